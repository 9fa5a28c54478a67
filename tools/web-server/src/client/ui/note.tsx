import { IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react';
import clsx from 'clsx';
import type { ReactNode } from 'react';
import css from './note.module.css';

/** An inline note. */
export function Note({ children }: { children: ReactNode }) {
  return (
    <div className={css.note}>
      <IconInfoCircle size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}

/** An inline failure. Screen readers announce it at once. */
export function FailureNote({ children }: { children: ReactNode }) {
  return (
    <div className={clsx(css.note, css.failure)} role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}
