import { isActive, isUnderWay, type SideRun, type SideRunKind, type StageView } from '@callboard/contract';
import { Anchor, Button, Flex, Group, Loader, Text } from '@mantine/core';
import { IconSparkles } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { applySideRun, sideRunsQuery } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { linesText } from '../../lib/comment-text.ts';
import { cost } from '../../lib/format.ts';
import { reviewWaits } from '../../lib/limit-text.ts';
import { reviewProblem } from '../../lib/review-text.ts';
import { pathText } from '../../lib/tool-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Indented, Strip } from '../../ui/primitives.tsx';
import { Seen, TimeSince } from '../../ui/text.tsx';

/** Whether Claude can be asked now: its work is over for the moment, and the stage is not. */
const canAsk = ({ session, completedAt, worktree }: StageView): boolean =>
  session !== null &&
  worktree !== null &&
  completedAt === null &&
  session.alarm === null &&
  session.terminal === null &&
  !isActive(session.state);

/** The button that asks Claude to review the changes. */
export function AskForReview({ stage }: { stage: StageView }) {
  const run = useNewestRun(stage, 'review');
  const start = useStartRun(stage, 'review');
  const canCommand = useCanCommand();
  if (!canAsk(stage) || run === undefined || (run !== null && isUnderWay(run))) return null;
  return (
    <Button
      size="compact-md"
      variant="default"
      leftSection={<IconSparkles size={14} aria-hidden />}
      disabled={!canCommand}
      loading={start.isPending}
      onClick={() => start.mutate(undefined)}
    >
      {run === null ? 'Ask Claude to review' : reviewProblem(run.state) === null ? 'Review again' : 'Try again'}
    </Button>
  );
}

/** What became of Claude's newest review: that it is under way, its verdict, or why there is none. */
export function ReviewOutcome({ stage }: { stage: StageView }) {
  const run = useNewestRun(stage, 'review');
  if (run === null || run === undefined) return null;
  if (isUnderWay(run))
    return (
      <Strip p={0}>
        <UnderWay stage={stage} run={run} text={underWayText(run)} />
      </Strip>
    );
  const problem = reviewProblem(run.state);
  return (
    <Strip gap={0} mah="30vh" fz="row" role="status">
      <Flex component="p" align="center" wrap="wrap" gap="sm">
        <IconSparkles size={14} aria-hidden />
        <strong>{problem ?? 'Claude’s review'}</strong>
        <Text span c="dimmed" inherit>
          {run.costUsd !== null && `${cost(run.costUsd)} · `}
          <TimeSince at={run.endedAt ?? run.createdAt} ago />
        </Text>
      </Flex>
      {problem !== null && run.reason !== null && (
        <Text maw="80ch" inherit>
          {run.reason}
        </Text>
      )}
      {run.state === 'done' && <Verdict run={run} />}
    </Strip>
  );
}

const underWayText = ({ state, limitWait }: SideRun): string =>
  state === 'waiting' && limitWait !== null ? reviewWaits(limitWait.goesOnAt) : 'Claude is reviewing the changes';

function Verdict({ run }: { run: SideRun }) {
  const [isOpen, setOpen] = useState(false);
  const { summary, findings, misplaced } = run;
  return (
    <>
      <Text maw="80ch" inherit>
        {findings + misplaced.length === 0 && 'Nothing to change. '}
        {summary !== null && <Seen text={summary} kind="prose" />}
      </Text>
      {misplaced.length > 0 && (
        <>
          <Anchor component="button" type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {misplaced.length === 1 ? '1 finding has' : `${misplaced.length} findings have`} no place in the changes
          </Anchor>
          {isOpen && (
            <Indented component="ul">
              {misplaced.map((finding) => (
                <li key={`${finding.path} ${finding.line} ${finding.text}`}>
                  <code>{pathText(finding.path)}</code>,{' '}
                  {linesText({ ...finding, endLine: finding.endLine ?? finding.line })}:{' '}
                  <Seen text={finding.text} kind="prose" />{' '}
                  <Text span c="dimmed" inherit>
                    {finding.why}
                  </Text>
                </li>
              ))}
            </Indented>
          )}
        </>
      )}
    </>
  );
}

/** Says that Claude is at it, since when, and lets a person stop it. */
export function UnderWay({ stage, run, text }: { stage: StageView; run: SideRun; text: string }) {
  const stop = useStopRun(stage);
  const canCommand = useCanCommand();
  return (
    <Group px="lg" py="sm" fz="row" role="status">
      <Loader size={14} color="gray" aria-hidden />
      <span>
        {text} · <TimeSince at={run.startedAt ?? run.createdAt} />
      </span>
      <Button
        ml="auto"
        size="compact-sm"
        variant="default"
        disabled={!canCommand}
        loading={stop.isPending}
        onClick={() => stop.mutate(run.id)}
      >
        Stop
      </Button>
    </Group>
  );
}

/** The newest run of a kind; null if there is none, undefined while that is not known. */
export function useNewestRun({ id, worktree }: StageView, kind: SideRunKind): SideRun | null | undefined {
  const { data } = useQuery({ ...sideRunsQuery(id), enabled: worktree !== null });
  return data === undefined ? undefined : (data.find((run) => run.kind === kind) ?? null);
}

const FAILED = {
  review: 'Claude was not asked to review',
  'pull-request': 'Claude was not asked to write it',
} as const satisfies Record<SideRunKind, string>;

/** Asks Claude for a review of the changes, or for the text of a pull request. */
export function useStartRun(stage: StageView, kind: SideRunKind) {
  const cache = useQueryClient();
  return useCommand({
    run: (_: undefined) => client.command('start_side_run', { stageId: stage.id, kind }),
    failed: FAILED[kind],
    stageId: () => stage.id,
    done: ({ run }) => applySideRun(cache, run),
  });
}

function useStopRun(stage: StageView) {
  const cache = useQueryClient();
  return useCommand({
    run: (runId: string) => client.command('stop_side_run', { stageId: stage.id, runId }),
    failed: 'Claude was not stopped',
    stageId: () => stage.id,
    done: ({ run }) => applySideRun(cache, run),
  });
}
