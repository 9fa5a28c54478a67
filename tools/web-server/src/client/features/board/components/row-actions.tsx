import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useAcknowledgeDenial, useAdvanceStage, useRunCheck } from '../../../data/stage-commands.ts';
import { checkAtGate } from '../../../lib/check-words.ts';
import { canAcknowledgeDenial, phaseNext } from '../../../lib/needs-you-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { startFromRow } from '../api/start-from-row.ts';
import css from './row.module.css';

interface ActionProps {
  stage: StageView;
  describedBy: string;
}

interface StartButtonProps extends ActionProps {
  isSending: boolean;
  isOff: boolean;
}

/** A plain button without a state of its own: hundreds of rows have one. */
export const StartButton = ({ stage, describedBy, isSending, isOff }: StartButtonProps) => (
  <button
    type="button"
    className={css.start}
    title="Start (S)"
    aria-describedby={describedBy}
    aria-busy={isSending}
    disabled={isOff || isSending}
    onClick={() => void startFromRow(stage)}
  >
    Start
  </button>
);

/** Acknowledges that Claude Code denied the last call, which moves the stage to Review. */
export function SeenButton({ stage, describedBy }: ActionProps) {
  const acknowledge = useAcknowledgeDenial(stage.title);
  const off = !useCanCommand();
  if (!canAcknowledgeDenial(stage)) return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-describedby={describedBy}
      disabled={off}
      loading={acknowledge.isPending}
      onClick={() => acknowledge.mutate(stage.id)}
    >
      Seen
    </Button>
  );
}

/** Starts the phase that waits for a person. */
export function AdvanceButton({ stage, describedBy }: ActionProps) {
  const advance = useAdvanceStage(stage.title);
  const off = !useCanCommand();
  const isHuman = stage.session?.atGate === true && checkAtGate(stage) === null;
  if (!isHuman || stage.session?.alarm !== null) return null;
  return (
    <Button
      size="compact-sm"
      aria-describedby={describedBy}
      disabled={off}
      loading={advance.isPending}
      onClick={() => advance.mutate(stage.id)}
    >
      Start {phaseNext(stage)}
    </Button>
  );
}

/** Runs a check again that waits for a person. What else can be done is on the stage's page. */
export function RunCheckButton({ stage, describedBy }: ActionProps) {
  const run = useRunCheck(stage.title);
  const off = !useCanCommand();
  if (checkAtGate(stage) === null || stage.session?.alarm !== null) return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-describedby={describedBy}
      disabled={off}
      loading={run.isPending}
      onClick={() => run.mutate(stage.id)}
    >
      Run again
    </Button>
  );
}
