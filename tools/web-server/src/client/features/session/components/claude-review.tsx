import { isActive, isUnderWay, type SideRun, type StageView } from '@callboard/contract';
import { Button, Loader } from '@mantine/core';
import { IconSparkles } from '@tabler/icons-react';
import { useState } from 'react';
import { cost } from '../../../lib/format.ts';
import { reviewWaits } from '../../../lib/limit-words.ts';
import { pathText } from '../../../lib/paths.ts';
import { reviewProblem } from '../../../lib/review-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useNewestRun, useStartRun, useStopRun } from '../api/side-runs.ts';
import { linesText } from '../model/comment-words.ts';
import css from './claude-review.module.css';

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
  if (isUnderWay(run)) return <UnderWay stage={stage} run={run} text={underWayText(run)} isBar />;
  const problem = reviewProblem(run.state);
  return (
    <div className={css.verdict} role="status">
      <p className={css.verdictHead}>
        <IconSparkles size={14} aria-hidden />
        <strong>{problem ?? 'Claude’s review'}</strong>
        <span className={css.aside}>
          {run.costUsd !== null && `${cost(run.costUsd)} · `}
          <TimeSince at={run.endedAt ?? run.createdAt} ago />
        </span>
      </p>
      {problem !== null && run.reason !== null && <p className={css.verdictText}>{run.reason}</p>}
      {run.state === 'done' && <Verdict run={run} />}
    </div>
  );
}

const underWayText = ({ state, limitWait }: SideRun): string =>
  state === 'waiting' && limitWait !== null ? reviewWaits(limitWait.goesOnAt) : 'Claude is reviewing the changes';

function Verdict({ run }: { run: SideRun }) {
  const [isOpen, setOpen] = useState(false);
  const { summary, findings, misplaced } = run;
  return (
    <>
      <p className={css.verdictText}>
        {findings + misplaced.length === 0 && 'Nothing to change. '}
        {summary !== null && <Seen text={summary} kind="prose" />}
      </p>
      {misplaced.length > 0 && (
        <>
          <button type="button" className={css.more} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {misplaced.length === 1 ? '1 finding has' : `${misplaced.length} findings have`} no place in the changes
          </button>
          {isOpen && (
            <ul className={css.misplaced}>
              {misplaced.map((finding) => (
                <li key={`${finding.path} ${finding.line} ${finding.text}`}>
                  <code>{pathText(finding.path)}</code>,{' '}
                  {linesText({ ...finding, endLine: finding.endLine ?? finding.line })}:{' '}
                  <Seen text={finding.text} kind="prose" /> <span className={css.aside}>{finding.why}</span>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </>
  );
}

/** Says that Claude is at it, since when, and lets a person stop it. */
export function UnderWay({
  stage,
  run,
  text,
  isBar = false,
}: {
  stage: StageView;
  run: SideRun;
  text: string;
  /** In the bar below the changes. */
  isBar?: boolean;
}) {
  const stop = useStopRun(stage);
  const canCommand = useCanCommand();
  return (
    <div className={css.underWay} data-bar={isBar} role="status">
      <Loader size={14} color="gray" aria-hidden />
      <span>
        {text} · <TimeSince at={run.startedAt ?? run.createdAt} />
      </span>
      <Button
        size="compact-sm"
        variant="default"
        disabled={!canCommand}
        loading={stop.isPending}
        onClick={() => stop.mutate(run.id)}
      >
        Stop
      </Button>
    </div>
  );
}
