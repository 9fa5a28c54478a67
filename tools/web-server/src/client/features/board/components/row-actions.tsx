import { checkAtGate, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useAcknowledgeDenial, useAdvanceStage, useRunCheck } from '../../../data/stage-commands.ts';
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

interface RowCommandProps {
  describedBy: string;
  variant?: 'default';
  command: { isPending: boolean; mutate: (stageId: StageView['id']) => void };
  stageId: StageView['id'];
  children: ReactNode;
}

function RowCommand({ describedBy, variant, command, stageId, children }: RowCommandProps) {
  const off = !useCanCommand();
  return (
    <Button
      size="compact-sm"
      variant={variant}
      aria-describedby={describedBy}
      disabled={off}
      loading={command.isPending}
      onClick={() => command.mutate(stageId)}
    >
      {children}
    </Button>
  );
}

/** Acknowledges that Claude Code denied the last call, which moves the stage to Review. */
export function SeenButton({ stage, describedBy }: ActionProps) {
  const command = useAcknowledgeDenial(stage.title);
  if (!canAcknowledgeDenial(stage)) return null;
  return (
    <RowCommand variant="default" stageId={stage.id} describedBy={describedBy} command={command}>
      Seen
    </RowCommand>
  );
}

/** Starts the phase that waits for a person. */
export function AdvanceButton({ stage, describedBy }: ActionProps) {
  const command = useAdvanceStage(stage.title);
  const isHuman = stage.session?.atGate === true && checkAtGate(stage) === null;
  if (!isHuman || stage.session?.alarm !== null || stage.session.terminal !== null) return null;
  return (
    <RowCommand stageId={stage.id} describedBy={describedBy} command={command}>
      Start {phaseNext(stage)}
    </RowCommand>
  );
}

/** Runs a check again that waits for a person. What else can be done is on the stage's page. */
export function RunCheckButton({ stage, describedBy }: ActionProps) {
  const command = useRunCheck(stage.title);
  if (checkAtGate(stage) === null || stage.session?.alarm !== null || stage.session.terminal !== null) return null;
  return (
    <RowCommand variant="default" stageId={stage.id} describedBy={describedBy} command={command}>
      Run again
    </RowCommand>
  );
}
