import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react';
import { useCanCommand } from '../../../live/live-context.tsx';
import { useAdvanceStage, useStartStage } from '../../../live/stage-commands.ts';
import { useGoOn } from '../../../live/use-go-on.ts';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useInterrupt } from '../api/use-interrupt.ts';
import { phaseAtGate } from '../model/phase-words.ts';
import { CompleteActions } from './complete-actions.tsx';
import css from './stage-head.module.css';
import { StageMenu } from './stage-menu.tsx';
import { useEscapeTwice } from './use-escape-twice.ts';

interface StageActionsProps {
  stage: StageView;
  /** The element that says what it means to let it go on. */
  goOnHint: string;
}

/** What can be done with the stage now, the likeliest first. */
export function StageActions({ stage, goOnHint }: StageActionsProps) {
  return (
    <div className={css.actions}>
      <MainActions stage={stage} goOnHint={goOnHint} />
      <StageMenu stage={stage} />
    </div>
  );
}

function MainActions({ stage, goOnHint }: StageActionsProps) {
  const { session } = stage;
  if (stage.completedAt !== null) return null;
  switch (session?.state) {
    case undefined:
      return <StartButton stage={stage} />;
    case 'starting':
      return null;
    case 'busy':
    case 'waiting':
      return <InterruptButton stage={stage} />;
    case 'idle':
    case 'ended':
    case 'failed':
      return <RestActions stage={stage} goOnHint={goOnHint} />;
    default:
      return session?.state satisfies undefined;
  }
}

function RestActions({ stage, goOnHint }: StageActionsProps) {
  const next = phaseAtGate(stage);
  const wentWell = stage.session?.lastTurn?.outcome === 'succeeded';
  return (
    <>
      <GoOnButton stage={stage} goOnHint={goOnHint} />
      <CompleteActions stage={stage} isQuiet={next !== null || !wentWell} />
      {next !== null && <AdvanceButton stage={stage} next={next} />}
    </>
  );
}

/** Lets it go on where it stopped, whether its process lives or not. */
function GoOnButton({ stage, goOnHint }: StageActionsProps) {
  const goOn = useGoOn(stage);
  const canCommand = useCanCommand();
  if (goOn === null) return null;
  return (
    <Button
      leftSection={<IconPlayerPlayFilled size={14} />}
      disabled={!canCommand}
      loading={goOn.isSending}
      aria-describedby={goOnHint}
      onClick={goOn.run}
    >
      {goOn.label}
    </Button>
  );
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

function AdvanceButton({ stage, next }: { stage: StageView; next: string }) {
  const advance = useAdvanceStage(stage.title);
  return (
    <Button disabled={!useCanCommand()} loading={advance.isPending} onClick={() => advance.mutate(stage.id)}>
      Let {next} begin
    </Button>
  );
}

function InterruptButton({ stage }: { stage: StageView }) {
  const interrupt = useInterrupt(stage.title);
  const off = !useCanCommand() || interrupt.isPending;
  const isArmed = useEscapeTwice(() => {
    if (!off) interrupt.mutate(stage.id);
  });
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      rightSection={<KeyHint>Esc Esc</KeyHint>}
      disabled={off}
      loading={interrupt.isPending}
      title={
        interrupt.isPending ? 'Claude has not confirmed it yet' : 'Stop this turn; the session goes on (Esc twice)'
      }
      onClick={() => interrupt.mutate(stage.id)}
    >
      {isArmed ? 'Esc again to interrupt' : 'Interrupt'}
    </Button>
  );
}
