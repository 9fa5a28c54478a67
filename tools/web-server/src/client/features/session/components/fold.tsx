import { IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useId } from 'react';
import { useOpen } from '../model/session-ui.ts';
import css from './transcript.module.css';

interface FoldProps {
  /** Unique among everything that can be opened. */
  id: string;
  summary: ReactNode;
  /** Whether it is open until somebody closes it. */
  openByItself?: boolean;
  children: ReactNode;
}

/** Content folded to one line. Its state is remembered while the page is open. */
export function Fold({ id, summary, openByItself = false, children }: FoldProps) {
  const [open, setOpen] = useOpen(id, openByItself);
  const bodyId = useId();
  return (
    <div>
      <button
        type="button"
        className={css.foldLine}
        aria-expanded={open}
        aria-controls={open ? bodyId : undefined}
        onClick={() => setOpen(!open)}
      >
        <IconChevronRight size={16} className={css.chevron} data-open={open} aria-hidden />
        {summary}
      </button>
      {open && (
        <div id={bodyId} className={css.foldBody}>
          {children}
        </div>
      )}
    </div>
  );
}
