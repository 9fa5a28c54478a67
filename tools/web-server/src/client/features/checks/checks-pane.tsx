import {
  type Check,
  type CheckRun,
  type CheckState,
  checkAtGate,
  checkOf,
  isActive,
  type StageView,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { Box, Button, Group, Stack, Text } from '@mantine/core';
import {
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
} from '@tabler/icons-react';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useRunCheck } from '../../data/stage-commands.ts';
import { commandOutputQuery } from '../../data/worktree-queries.ts';
import { client } from '../../lib/api-client.ts';
import { checkLimits, RUN_TEXTS, runFacts, runTime } from '../../lib/check-text.ts';
import { exactTime } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { OutputScreen } from '../../ui/output-screen.tsx';
import { Entry, Hint, Pane, RowButton } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';

/** The runs of a stage's checks, newest first, with their output. */
export default function ChecksPane({ stage }: { stage: StageView }) {
  const { data: runs, error, refetch } = useQuery(checksQuery(stage));
  const phase = stage.pipeline[stage.session?.phaseIndex ?? 0];
  const check = phase === undefined ? null : checkOf(phase.gate);
  return (
    <Pane aria-label="Checks">
      {phase !== undefined && check !== null && <CurrentCheck stage={stage} phase={phase.name} check={check} />}
      {error !== null && <ErrorNote lead="The checks could not be read." error={error} retry={() => void refetch()} />}
      {runs?.length === 0 && <Hint>{emptyText(stage, check)}</Hint>}
      {runs !== undefined && runs.length > 0 && <Runs runs={runs} />}
    </Pane>
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
    <Group gap="8px 12px" pb="md">
      <Box flex="1 1 240px" miw={0}>
        <CodeBlock isCommand text={check.command} />
        <Hint>
          {phase}: {checkLimits(check)}
        </Hint>
      </Box>
      {checkAtGate(stage) === null && <RunAgain stage={stage} />}
    </Group>
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
    <ol aria-label="Runs">
      {runs.map((run, index) => (
        <CheckRunView key={run.id} run={run} isNewest={index === 0} />
      ))}
    </ol>
  );
}

/** How often what runs is read. */
const LIVE_MS = 1_000;

/** The runs of a stage's checks. What the board says of the newest one reads them again. */
const checksQuery = ({ id: stageId, session }: StageView) =>
  queryOptions({
    queryKey: ['checks', stageId, session?.check?.checkId, session?.check?.state],
    queryFn: async ({ signal }) => (await client.command('get_checks', { stageId }, { signal })).checks,
    placeholderData: keepPreviousData,
    staleTime: 0,
    // Its output can be read as soon as its command has begun.
    refetchInterval: ({ state: { data } }) =>
      data?.some((run) => run.state === 'running' && run.commandId === null) === true ? LIVE_MS : false,
  });

/** The phases that have begun. */
export const phasesQuery = ({ id: stageId, session }: StageView) =>
  queryOptions({
    queryKey: ['phases', stageId, session?.phaseIndex, session?.lastTurn?.at],
    queryFn: async ({ signal }) => (await client.command('get_phases', { stageId }, { signal })).phases,
    placeholderData: keepPreviousData,
    staleTime: 0,
    enabled: session !== null,
  });

const ICONS: Readonly<Record<CheckState, typeof IconClock>> = {
  waiting: IconClock,
  running: IconPlayerPlay,
  passed: IconCircleCheck,
  failed: IconCircleX,
  'timed-out': IconCircleX,
  stopped: IconPlayerStop,
  interrupted: IconRefresh,
  'not-started': IconCircleX,
};

const FAILED: ReadonlySet<CheckState> = new Set(['failed', 'timed-out', 'not-started']);

/** One run: its result in a line, and its output. The newest is open until somebody closes it. */
function CheckRunView({ run, isNewest }: { run: CheckRun; isNewest: boolean }) {
  const [isToggled, setToggled] = useState(false);
  const isOpen = isToggled !== isNewest;
  const outputId = useId();
  const Icon = ICONS[run.state];
  const took = runTime(run);
  return (
    <Entry py={0}>
      <RowButton px={0} aria-expanded={isOpen} aria-controls={outputId} onClick={() => setToggled(!isToggled)}>
        <Icon size={16} color={FAILED.has(run.state) ? 'var(--fail)' : 'var(--muted)'} aria-hidden />
        <Text span inherit fw={500}>
          {RUN_TEXTS[run.state]}
        </Text>{' '}
        <Hint span>{run.phase}</Hint>{' '}
        <Hint span flex={1} miw={0}>
          {runFacts(run).join(', ')}
        </Hint>{' '}
        <Hint span className="figures" title={exactTime(run.startedAt ?? run.createdAt)}>
          {took ?? <TimeSince at={run.startedAt ?? run.createdAt} />}
        </Hint>
      </RowButton>
      {isOpen && (
        <Stack id={outputId} flex="1 0 100%" pb="md">
          {run.reason !== null && <p>{run.reason}</p>}
          <RunOutput run={run} />
        </Stack>
      )}
    </Entry>
  );
}

/** Whether the server keeps this output no longer. */
const isGone = (error: Error | null): boolean => error instanceof TransportError && error.code === 'unknown_command';

function RunOutput({ run }: { run: CheckRun }) {
  const { stageId, commandId, state } = run;
  const { data, error, refetch } = useQuery(commandOutputQuery({ stageId, id: commandId, state }));
  if (commandId === null) return null;
  if (isGone(error)) return <Hint>The output is gone: only that of the newest 20 runs is kept.</Hint>;
  if (error !== null)
    return <ErrorNote lead="The output could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <OutputScreen
      output={data.text}
      note={data.isCut ? 'The beginning is left out.' : null}
      empty={state === 'running' ? 'No output yet' : 'No output'}
      isTall
    />
  );
}
