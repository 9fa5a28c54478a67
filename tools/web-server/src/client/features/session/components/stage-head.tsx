import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react';
import { modeWords } from '../../../lib/modes.ts';
import { cost } from '../../../lib/time.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { useCompleteStage, useStartStage } from '../../../live/stage-commands.ts';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useInterrupt } from '../api/use-interrupt.ts';
import { stateWords } from '../model/state-words.ts';
import css from './stage-head.module.css';
import { StageMenu } from './stage-menu.tsx';

/** What the stage is, where it stands, and what can be done with it now. */
export function StageHead({ stage, pending }: { stage: StageView; pending: number }) {
  const { words, tone } = stateWords(stage, pending);
  const { session } = stage;
  return (
    <header className={css.head}>
      <h1 className={css.title}>{stage.title}</h1>
      <div className={css.facts}>
        <span className={css.state} data-tone={tone}>
          {words}
        </span>
        {session !== null && (
          <>
            <TimeSince at={session.stateSince} />
            <span title="Cost so far">{cost(session.costUsd)}</span>
            {session.contextUsage !== null && (
              <span title="Context fill">ctx {Math.round(session.contextUsage.percentage)} %</span>
            )}
            <span className={css.mode} title="Permission mode">
              {modeWords(session.mode)}
            </span>
          </>
        )}
      </div>
      <div className={css.actions}>
        <MainAction stage={stage} />
        <StageMenu stage={stage} />
      </div>
    </header>
  );
}

function MainAction({ stage }: { stage: StageView }) {
  const state = stage.session?.state;
  if (stage.completedAt !== null) return null;
  if (state === undefined) return <StartButton stage={stage} />;
  if (state === 'busy' || state === 'waiting') return <InterruptButton stage={stage} />;
  return state === 'starting' ? null : <CompleteButton stage={stage} />;
}

function StartButton({ stage }: { stage: StageView }) {
  const start = useStartStage(stage.title);
  return (
    <Button
      leftSection={<IconPlayerPlayFilled size={14} />}
      disabled={!useCanCommand()}
      loading={start.isPending}
      onClick={() => start.mutate(stage.id)}
    >
      Start
    </Button>
  );
}

function InterruptButton({ stage }: { stage: StageView }) {
  const interrupt = useInterrupt(stage.title);
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      disabled={!useCanCommand()}
      loading={interrupt.isPending}
      onClick={() => interrupt.mutate(stage.id)}
    >
      Interrupt
    </Button>
  );
}

function CompleteButton({ stage }: { stage: StageView }) {
  const complete = useCompleteStage(stage.title);
  return (
    <Button
      variant="default"
      disabled={!useCanCommand()}
      loading={complete.isPending}
      onClick={() => complete.mutate(stage.id)}
    >
      Complete
    </Button>
  );
}
