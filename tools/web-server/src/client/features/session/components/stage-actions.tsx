import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconArrowBackUp, IconEye, IconPlayerPlayFilled } from '@tabler/icons-react';
import { useState } from 'react';
import { canBeSeen } from '../../../lib/need-words.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { useAcknowledgeDenial, useAdvanceStage, useReopenStage, useStartStage } from '../../../live/stage-commands.ts';
import { useGoOn } from '../../../live/use-go-on.ts';
import { phaseAtGate } from '../model/phase-words.ts';
import { CompleteActions } from './complete-actions.tsx';
import { InterruptButton, InterruptPressed } from './interrupt-button.tsx';
import css from './stage-head.module.css';
import { StageMenu } from './stage-menu.tsx';

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
  const [isPressed, setPressed] = useState(false);
  if (stage.completedAt !== null) return <ReopenButton stage={stage} />;
  if (session?.alarm != null) return null; // the alarm has its own
  switch (session?.state) {
    case undefined:
      return <StartButton stage={stage} />;
    case 'starting':
      return null;
    case 'busy':
    case 'waiting':
      return <InterruptButton stage={stage} pressed={() => setPressed(true)} />;
    case 'idle':
    case 'ended':
    case 'failed':
      if (isPressed) return <InterruptPressed over={() => setPressed(false)} />;
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
      {canBeSeen(stage) && <SeenButton stage={stage} />}
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

/** Takes note of a denial by Claude Code; the stage goes to Review. */
function SeenButton({ stage }: { stage: StageView }) {
  const acknowledge = useAcknowledgeDenial(stage.title);
  return (
    <Button
      variant="default"
      leftSection={<IconEye size={16} />}
      disabled={!useCanCommand()}
      loading={acknowledge.isPending}
      onClick={() => acknowledge.mutate(stage.id)}
    >
      Seen
    </Button>
  );
}

/** A message does the same; this is for who has nothing to say yet. */
function ReopenButton({ stage }: { stage: StageView }) {
  const reopen = useReopenStage(stage.title);
  return (
    <Button
      variant="default"
      leftSection={<IconArrowBackUp size={16} />}
      disabled={!useCanCommand()}
      loading={reopen.isPending}
      onClick={() => reopen.mutate(stage.id)}
    >
      Reopen
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
