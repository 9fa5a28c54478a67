import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useAcknowledgeDenial, useAdvanceStage, useStartStage } from '../../../data/stage-commands.ts';
import { canAcknowledgeDenial, phaseNext } from '../../../lib/needs-you-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import css from './row.module.css';

interface ActionProps {
  stage: StageView;
  describedBy: string;
}

/** A plain button: hundreds of rows have one. */
export function StartButton({ stage, describedBy }: ActionProps) {
  const start = useStartStage(stage.title);
  const off = !useCanCommand();
  return (
    <button
      type="button"
      className={css.start}
      title="Start (S)"
      aria-describedby={describedBy}
      aria-busy={start.isPending}
      disabled={off || start.isPending}
      onClick={() => start.mutate(stage.id)}
    >
      Start
    </button>
  );
}

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
  if (stage.session?.atGate !== true || stage.session.alarm !== null) return null;
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
