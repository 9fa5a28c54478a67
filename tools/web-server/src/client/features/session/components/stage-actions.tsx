import { checkAtGate, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconEye, IconPlayerPlayFilled } from '@tabler/icons-react';
import { type ComponentType, useState } from 'react';
import { useBudgetAtStage } from '../../../data/budgets.ts';
import {
  useAcknowledgeDenial,
  useAdvanceStage,
  useContinueStage,
  useStartStage,
} from '../../../data/stage-commands.ts';
import { beforeStart } from '../../../lib/before-start.ts';
import { isLoggedOutStage } from '../../../lib/claude-words.ts';
import { canAcknowledgeDenial } from '../../../lib/needs-you-words.ts';
import { phaseAtGate } from '../../../lib/phase-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CompleteActions, DoneActions } from './complete-actions.tsx';
import { InterruptButton, InterruptPressed } from './interrupt-button.tsx';
import { RetryDenial } from './retry-denial.tsx';
import css from './stage-head.module.css';
import { StageMenu } from './stage-menu.tsx';

interface StageActionsProps {
  stage: StageView;
  /** The id of the element that explains what continuing does. */
  continueHint: string;
  /** Decides about a check that did not pass. */
  CheckSlot: ComponentType<{ stage: StageView }>;
}

/** The stage's current actions, likeliest first. */
export function StageActions(props: StageActionsProps) {
  const { stage } = props;
  return (
    <div className={css.actions}>
      <MainActions {...props} />
      <StageMenu stage={stage} />
    </div>
  );
}

function MainActions({ stage, ...props }: StageActionsProps) {
  const { session } = stage;
  const [isPressed, setPressed] = useState(false);
  if (stage.completedAt !== null) return <DoneActions stage={stage} />;
  if (session?.alarm != null || session?.terminal != null) return null; // their banners have actions
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
      return <RestActions stage={stage} {...props} />;
    default:
      return session?.state satisfies undefined;
  }
}

function RestActions({ stage, continueHint, CheckSlot }: StageActionsProps) {
  const next = phaseAtGate(stage);
  const wentWell = stage.session?.lastTurn?.outcome === 'succeeded';
  if (checkAtGate(stage) !== null) return <CheckSlot stage={stage} />;
  return (
    <>
      {mayContinue(stage) && <ContinueButton stage={stage} continueHint={continueHint} />}
      {canAcknowledgeDenial(stage) && <RetryDenial stage={stage} />}
      {canAcknowledgeDenial(stage) && <SeenButton stage={stage} />}
      <CompleteActions stage={stage} isQuiet={next !== null || !wentWell || canAcknowledgeDenial(stage)} />
      {next !== null && <AdvanceButton stage={stage} next={next} />}
    </>
  );
}

/** Whether Continue is the next step. Where something else must happen first, a banner has it. */
const mayContinue = (stage: StageView): boolean =>
  !isLoggedOutStage(stage) &&
  stage.session?.limitWait == null &&
  stage.session?.spentBudget == null &&
  beforeStart(stage) === null;

/** Continues the stage where it stopped, with or without a running process. */
function ContinueButton({ stage, continueHint }: Omit<StageActionsProps, 'CheckSlot'>) {
  const continuing = useContinueStage(stage);
  const canCommand = useCanCommand();
  if (continuing === null) return null;
  return (
    <Button
      leftSection={<IconPlayerPlayFilled size={14} />}
      disabled={!canCommand}
      loading={continuing.isSending}
      aria-describedby={continueHint}
      onClick={continuing.run}
    >
      {continuing.label}
    </Button>
  );
}

/** Acknowledges a denial by Claude Code; the stage moves to Review. */
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

function StartButton({ stage }: { stage: StageView }) {
  const start = useStartStage(stage.title);
  const canCommand = useCanCommand();
  if (useBudgetAtStage(stage) !== null) return null; // its banner starts it
  return (
    <Button
      leftSection={<IconPlayerPlayFilled size={14} />}
      disabled={!canCommand}
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
      Start {next}
    </Button>
  );
}
