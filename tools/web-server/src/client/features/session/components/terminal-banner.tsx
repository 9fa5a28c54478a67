import { resumeCommand, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconTerminal2 } from '@tabler/icons-react';
import clsx from 'clsx';
import { count } from '../../../lib/format.ts';
import { inTerminalText } from '../../../lib/terminal-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { useWithdraw } from '../api/session-commands.ts';
import css from './stage-head.module.css';

/** The conversation is in a terminal: how to continue it there, and how to take it back. Nothing for any other stage. */
export function TerminalBanner({ stage }: { stage: StageView }) {
  const withdraw = useWithdraw(stage.title);
  const canCommand = useCanCommand();
  const { session, worktree } = stage;
  const text = inTerminalText(stage);
  if (text === null || session === null) return null;
  const waiting = session.queued === 0 ? '' : ` ${count(session.queued, 'message')} queued.`;
  return (
    <section className={clsx(css.alarm, css.inTerminal)} aria-labelledby="in-terminal">
      <IconTerminal2 size={20} aria-hidden />
      <div>
        <h2 id="in-terminal">{text}</h2>
        <p>
          {session.terminal?.by} continues this conversation there. Callboard starts nothing for it. Exit Claude Code in
          the terminal, then take the stage back or send a message.{waiting}
        </p>
        {worktree !== null && session.sessionId !== null && (
          <CopyLine text={resumeCommand(worktree.path, session.sessionId)} label="command that resumes" />
        )}
        <div className={css.alarmActions}>
          <Button disabled={!canCommand} loading={withdraw.isPending} onClick={() => withdraw.mutate(stage.id)}>
            Take back
          </Button>
        </div>
      </div>
    </section>
  );
}
