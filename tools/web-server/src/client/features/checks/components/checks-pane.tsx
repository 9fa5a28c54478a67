import { type Check, type CheckRun, checkAtGate, checkOf, isActive, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRunCheck } from '../../../data/stage-commands.ts';
import { checkLimits } from '../../../lib/gate-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CodeBlock } from '../../../ui/code.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { checksQuery } from '../api/check-queries.ts';
import { CheckRunView } from './check-run.tsx';
import css from './checks.module.css';

/** The runs of a stage's checks, newest first, with their output. */
export default function ChecksPane({ stage }: { stage: StageView }) {
  const { data: runs, error, refetch } = useQuery(checksQuery(stage));
  const phase = stage.pipeline[stage.session?.phaseIndex ?? 0];
  const check = phase === undefined ? null : checkOf(phase.gate);
  return (
    <section className={css.pane} aria-label="Checks">
      {phase !== undefined && check !== null && <CurrentCheck stage={stage} phase={phase.name} check={check} />}
      {error !== null && <ErrorNote lead="The checks could not be read." error={error} retry={() => void refetch()} />}
      {runs?.length === 0 && <p className={css.empty}>{emptyText(stage, check)}</p>}
      {runs !== undefined && runs.length > 0 && <Runs runs={runs} />}
    </section>
  );
}

const emptyText = ({ pipeline }: StageView, check: Check | null): string => {
  if (check !== null) return 'No runs yet. It runs when Claude has finished the phase.';
  return pipeline.some(({ gate }) => checkOf(gate) !== null)
    ? 'No runs yet. A later phase has a check.'
    : 'No phase of this stage has a check. A check is a command, for example the tests, whose exit code decides whether a phase is finished.';
};

/** The check of the current phase. The head of the page stops it, and has what a person decides about it. */
function CurrentCheck({ stage, phase, check }: { stage: StageView; phase: string; check: Check }) {
  return (
    <div className={css.current}>
      <div className={css.what}>
        <CodeBlock isCommand text={check.command} />
        <p className={css.facts}>
          {phase}: {checkLimits(check)}
        </p>
      </div>
      {checkAtGate(stage) === null && <RunAgain stage={stage} />}
    </div>
  );
}

function RunAgain({ stage }: { stage: StageView }) {
  const run = useRunCheck(stage.title);
  const off = !useCanCommand() || run.isPending;
  const { session, completedAt } = stage;
  if (session === null || completedAt !== null) return null;
  const canRun =
    !isActive(session.state) &&
    session.alarm === null &&
    session.terminal === null &&
    session.lastTurn?.outcome === 'succeeded';
  if (!canRun) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      leftSection={<IconRefresh size={14} />}
      disabled={off}
      loading={run.isPending}
      onClick={() => run.mutate(stage.id)}
    >
      {session.check === null ? 'Run' : 'Run again'}
    </Button>
  );
}

function Runs({ runs }: { runs: readonly CheckRun[] }) {
  return (
    <ol className={css.runs} aria-label="Runs">
      {runs.map((run, index) => (
        <CheckRunView key={run.id} run={run} isNewest={index === 0} />
      ))}
    </ol>
  );
}
