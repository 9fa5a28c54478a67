import type { SandboxSupport } from '@callboard/contract';
import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { supportText } from '../lib/isolation-text.ts';
import { CopyLine, Note } from './notes.tsx';

/** Why the sandbox does not work on this machine, and how to get it; nothing if it may work. */
export function SandboxSupportNote({ support, children }: { support: SandboxSupport; children?: ReactNode }) {
  const text = supportText(support);
  if (text === null) return null;
  return (
    <Note>
      <Stack gap="xs" align="flex-start">
        <p>The sandbox does not work on this machine yet, so sessions run without it. {text.why}</p>
        {text.how.map(({ text, isCommand }) =>
          isCommand ? <CopyLine key={text} text={text} /> : <p key={text}>{text}</p>,
        )}
        {children}
      </Stack>
    </Note>
  );
}
