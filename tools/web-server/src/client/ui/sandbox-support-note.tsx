import type { SandboxSupport } from '@callboard/contract';
import type { ReactNode } from 'react';
import { supportText } from '../lib/isolation-text.ts';
import { CopyLine, Note } from './notes.tsx';
import css from './sandbox.module.css';

/** Why the sandbox does not work on this machine, and how to get it; nothing if it may work. */
export function SandboxSupportNote({ support, children }: { support: SandboxSupport; children?: ReactNode }) {
  const text = supportText(support);
  if (text === null) return null;
  return (
    <Note>
      <div className={css.support}>
        <p>The sandbox does not work on this machine yet, so sessions run without it. {text.why}</p>
        {text.how.map(({ text, isCommand }) =>
          isCommand ? <CopyLine key={text} text={text} /> : <p key={text}>{text}</p>,
        )}
        {children}
      </div>
    </Note>
  );
}
