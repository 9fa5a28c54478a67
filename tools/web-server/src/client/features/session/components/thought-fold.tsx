import type { ReactNode } from 'react';
import { Fold } from './fold.tsx';
import css from './transcript.module.css';

interface ThoughtFoldProps {
  id: string;
  isLive?: boolean;
  children: ReactNode;
}

/** What Claude thought, folded to one line. */
export const ThoughtFold = ({ id, isLive = false, children }: ThoughtFoldProps) => (
  <div className={css.indent}>
    <Fold id={id} summary={isLive ? 'Thinking…' : 'Thought'}>
      {children}
    </Fold>
  </div>
);
