import type { StageView, WorktreeCommand } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconAlertTriangle, IconTool } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRemakeWorktree } from '../../../data/stage-commands.ts';
import { useTrustDialog } from '../../../data/trust-query.ts';
import { commandsQuery } from '../../../data/workspace-queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useStartAnyway, useStopCommand } from '../api/use-workspace-commands.ts';
import { SET_UP_TEXTS, type SetUpState, setUpState } from '../model/run-words.ts';
import { CommandOutputBox } from './command-output.tsx';
import css from './workspace.module.css';

/** What happens, or has gone wrong, before Claude starts in a worktree. Shows nothing for other stages. */
export function SetUpPanel({ stage }: { stage: StageView }) {
  const state = stage.session?.state;
  const isConcerned = state === 'starting' || state === 'failed';
  const { data: runs = [] } = useQuery({ ...commandsQuery(stage.id), enabled: isConcerned });
  const run = runs.find(({ kind }) => kind === 'setup') ?? null;
  const now = isConcerned ? setUpState(stage, run) : null;
  if (now === null) return null;
  const { title, text } = SET_UP_TEXTS[now];
  const hasOutput = (now === 'running' || now === 'failed') && run !== null;
  return (
    <section className={css.panel} data-tone={TONES[now]} aria-labelledby="set-up">
      <div className={css.head}>
        {now === 'running' ? <IconTool size={16} aria-hidden /> : <IconAlertTriangle size={16} aria-hidden />}
        <h2 id="set-up">{title}</h2>
        {now === 'running' && run !== null && (
          <span className={css.facts}>
            <TimeSince at={run.startedAt} />
          </span>
        )}
        <Actions stage={stage} state={now} run={run} />
      </div>
      <p role="status">
        {now === 'failed' && run?.reason != null ? `${run.reason} ` : ''}
        {text}
      </p>
      {(now === 'no-fetch' || now === 'bad-file' || now === 'replaced') && (
        <p className={css.cause}>{stage.session?.lastTurn?.message}</p>
      )}
      {hasOutput && <CommandOutputBox run={run} />}
    </section>
  );
}

/** Amber calls a person, red is a failure. */
const TONES: Readonly<Record<SetUpState, 'plain' | 'needs' | 'fail'>> = {
  running: 'plain',
  failed: 'fail',
  'no-fetch': 'fail',
  'bad-file': 'fail',
  replaced: 'fail',
  'not-agreed': 'needs',
};

interface ActionsProps {
  stage: StageView;
  state: SetUpState;
  run: WorktreeCommand | null;
}

function Actions({ stage, state, run }: ActionsProps) {
  const start = useStartAnyway(stage);
  const stop = useStopCommand(stage.id);
  const remake = useRemakeWorktree(stage.title, true);
  const off = !useCanCommand();
  const wanted = start.isPending ? start.variables : null;
  if (state === 'running')
    return (
      <div className={css.actions}>
        <Button
          variant="default"
          disabled={off || run === null}
          loading={stop.isPending}
          onClick={() => run !== null && stop.mutate(run.id)}
        >
          Stop
        </Button>
      </div>
    );
  if (state === 'replaced')
    return (
      <div className={css.actions}>
        <Button variant="default" disabled={off} loading={start.isPending} onClick={() => start.mutate({})}>
          Try again
        </Button>
        <Button disabled={off} loading={remake.isPending} onClick={() => remake.mutate(stage.id)}>
          Make the worktree again
        </Button>
      </div>
    );
  const without = state === 'no-fetch' ? { withoutFetch: true } : { withoutSetup: true };
  return (
    <div className={css.actions}>
      <Button
        variant="default"
        disabled={off}
        loading={wanted !== null && hasWithout(wanted)}
        onClick={() => start.mutate(without)}
      >
        {state === 'no-fetch' ? 'Start with what is here' : 'Start without it'}
      </Button>
      {state === 'not-agreed' && (
        <Button
          disabled={off}
          onClick={() => useTrustDialog.getState().open({ projectId: stage.projectId, stageId: stage.id })}
        >
          Review
        </Button>
      )}
      <Button
        variant={state === 'not-agreed' ? 'default' : 'filled'}
        disabled={off}
        loading={wanted !== null && !hasWithout(wanted)}
        onClick={() => start.mutate({})}
      >
        {state === 'failed' ? 'Run again' : 'Try again'}
      </Button>
    </div>
  );
}

const hasWithout = (how: { withoutSetup?: boolean; withoutFetch?: boolean }): boolean =>
  how.withoutSetup === true || how.withoutFetch === true;
