import { IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react';
import clsx from 'clsx';
import type { ReactNode } from 'react';
import css from './note.module.css';

/** Something worth knowing, in its place. */
export function Note({ children }: { children: ReactNode }) {
  return (
    <div className={css.note}>
      <IconInfoCircle size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}

/** What failed; said by screen readers at once. */
export function FailureNote({ children }: { children: ReactNode }) {
  return (
    <div className={clsx(css.note, css.failure)} role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}
