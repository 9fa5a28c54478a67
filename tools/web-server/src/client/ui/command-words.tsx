import { Button, CopyButton } from '@mantine/core';
import { commandDeps, commandIn } from '../lib/command-parts.ts';
import css from './command-words.module.css';

/** A message whose commands stand out from its words. */
export const CommandText = ({ text }: { text: string }) =>
  commandDeps(text).map(({ text: part, isCommand }) =>
    isCommand ? (
      <code key={part} className={css.command}>
        {part}
      </code>
    ) : (
      part
    ),
  );

/** The one step of a message that names a command: it copies that command. Nothing if it names none. */
export function CopyCommandOf({ text }: { text: string }) {
  const command = commandIn(text);
  if (command === null) return null;
  return (
    <CopyButton value={command} timeout={2_000}>
      {({ copied, copy }) => (
        <Button className={css.copy} variant="default" size="compact-md" onClick={copy}>
          {copied ? 'Copied' : 'Copy command'}
        </Button>
      )}
    </CopyButton>
  );
}
