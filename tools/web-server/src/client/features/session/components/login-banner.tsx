import { isClaudeAway, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { useContinueStage } from '../../../data/stage-commands.ts';
import { isLoggedOutStage } from '../../../lib/claude-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import css from './stage-head.module.css';

/** The stage stopped because Claude is not logged in: what to do, and Continue once that is done. Nothing for any other stage. */
export function LoginBanner({ stage }: { stage: StageView }) {
  const { data: isAway = true } = useQuery({ ...boardQuery, select: ({ claude }) => isClaudeAway(claude) });
  const continuing = useContinueStage(stage);
  const canCommand = useCanCommand();
  if (!isLoggedOutStage(stage)) return null;
  return (
    <section className={css.alarm} aria-labelledby="claude-login">
      <IconPlugConnectedX size={20} aria-hidden />
      <div>
        <h2 id="claude-login">{isAway ? 'Claude is not logged in' : 'Claude is logged in again'}</h2>
        <p role="status">
          {isAway
            ? 'Your message is kept. Run this in a terminal on Callboard’s machine and log in; this page notices it.'
            : 'Your message is kept. Continue where this stage stopped.'}
        </p>
        {isAway && <CopyLine text="claude" />}
        {continuing !== null && (
          <div className={css.alarmActions}>
            <Button
              variant={isAway ? 'default' : 'filled'}
              disabled={!canCommand}
              loading={continuing.isSending}
              onClick={continuing.run}
            >
              {isAway ? 'Try again' : 'Continue'}
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}
