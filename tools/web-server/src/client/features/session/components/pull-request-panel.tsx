import {
  type Finishing,
  isOpenPullRequest,
  isUnderWay,
  type PullRequest,
  type PullRequestPlan,
  type PullRequestText,
  type SideRun,
  type StageView,
} from '@callboard/contract';
import { Button, Checkbox, Loader, Textarea, TextInput } from '@mantine/core';
import { IconSparkles } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { draftMessage } from '../../../lib/completion-words.ts';
import { hasMoreToPush, openActionText, openPlanText } from '../../../lib/pull-request-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { FinishProblemNote } from '../../../ui/finish-problem-note.tsx';
import { pullRequestPlanQuery, useOpenPullRequest } from '../api/pull-request.ts';
import { useNewestRun, useStartRun } from '../api/side-runs.ts';
import { UnderWay } from './claude-review.tsx';
import css from './finish.module.css';
import { PullRequestState } from './pull-request-state.tsx';

interface PullRequestPanelProps {
  stage: StageView;
  done: () => void;
}

/** Finishing by a pull request: what is to be opened, or what became of the one that is open. */
export function PullRequestPanel({ stage, done }: PullRequestPanelProps) {
  const { data: plan, error, isFetching, refetch } = useQuery(pullRequestPlanQuery(stage));
  const { pullRequest } = stage;
  const open = pullRequest !== null && isOpenPullRequest(pullRequest) ? pullRequest : null;
  return (
    <>
      {pullRequest !== null && <PullRequestState stage={stage} pullRequest={pullRequest} done={done} />}
      {error !== null && (
        <ErrorNote lead="The remote could not be read." error={error} stageId={stage.id} retry={() => void refetch()} />
      )}
      {plan === undefined && error === null && (
        <Loader size="sm" color="gray" role="img" aria-label="Reading the remote" />
      )}
      {plan !== undefined && (
        <Plan
          stage={stage}
          done={done}
          plan={plan}
          open={open}
          isReading={isFetching}
          readAgain={() => void refetch()}
        />
      )}
    </>
  );
}

interface PlanProps extends PullRequestPanelProps {
  plan: PullRequestPlan;
  open: PullRequest | null;
  isReading: boolean;
  readAgain: () => void;
}

function Plan(props: PlanProps) {
  const { plan, open, isReading, readAgain } = props;
  if (open !== null && !hasMoreToPush(plan)) return null;
  if (plan.problem !== null)
    return <FinishProblemNote problem={plan.problem} isReading={isReading} readAgain={readAgain} />;
  return <OrderForm {...props} />;
}

/** What was ordered last and could not be done: its texts are kept. */
const refusedOrder = ({ finishing }: StageView): Finishing['order'] =>
  finishing?.way === 'pull-request' && finishing.state === 'refused' ? finishing.order : null;

function OrderForm({ stage, done, plan, open, readAgain }: PlanProps) {
  const saved = refusedOrder(stage);
  const [title, setTitle] = useState<string | null>(null);
  const [body, setBody] = useState<string | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const [draft, setDraft] = useState(saved?.draft ?? false);
  const [receipt, setReceipt] = useState(false);
  const run = useNewestRun(stage, 'pull-request');
  const order = useOpenPullRequest(stage, done);
  const isOff = !useCanCommand() || order.isPending || stage.finishing?.state === 'under-way';
  const drafted = draftedTexts(run, stage) ?? saved ?? plan;
  const texts = { title: title ?? drafted.title, body: body ?? drafted.body };
  const isTyped = texts.title !== drafted.title || texts.body !== drafted.body;
  const takeDrafted = () => {
    setTitle(null);
    setBody(null);
  };
  const commit = message ?? draftMessage(stage);
  const hasOpen = plan.uncommittedCount > 0;
  const isIncomplete = (open === null && texts.title.trim() === '') || (hasOpen && commit.trim() === '');
  const send = () => {
    const { head, tree } = plan;
    const reported = open === null ? { ...texts, draft, receipt } : {};
    order.mutate({ head, tree, ...reported, ...(hasOpen && { commit: { message: commit } }) }, { onError: readAgain });
  };
  return (
    <>
      <p className={css.line}>{openPlanText(plan, open)}</p>
      {hasOpen && (
        <Textarea
          label="Commit message"
          value={commit}
          onChange={(event) => setMessage(event.currentTarget.value)}
          autosize
          minRows={2}
          maxRows={8}
        />
      )}
      {open === null && (
        <>
          <WriteByClaude stage={stage} run={run} take={isTyped && run?.text ? takeDrafted : null} />
          <TextInput label="Title" value={texts.title} onChange={(event) => setTitle(event.currentTarget.value)} />
          <Textarea
            label="Text"
            value={texts.body}
            onChange={(event) => setBody(event.currentTarget.value)}
            autosize
            minRows={3}
            maxRows={12}
          />
          <div className={css.switches}>
            <Checkbox label="Draft" checked={draft} onChange={(event) => setDraft(event.currentTarget.checked)} />
            <Checkbox
              label="Add the receipt: what people allowed"
              checked={receipt}
              onChange={(event) => setReceipt(event.currentTarget.checked)}
            />
          </div>
        </>
      )}
      <LastProblem stage={stage} error={order.error} />
      <div className={css.actions}>
        <Button disabled={isOff || isIncomplete} loading={order.isPending} onClick={send}>
          {openActionText(plan, open)}
        </Button>
      </div>
    </>
  );
}

/** What Claude wrote, unless a person has ordered a pull request with other words since. */
function draftedTexts(run: SideRun | null | undefined, { finishing }: StageView): PullRequestText | null {
  if (run == null || run.text === null) return null;
  const isOlder = finishing?.way === 'pull-request' && finishing.at > (run.endedAt ?? run.createdAt);
  return isOlder ? null : run.text;
}

/** Asks Claude for title and text, which stay to be edited. @param take replaces what was typed by what Claude wrote */
function WriteByClaude({
  stage,
  run,
  take,
}: {
  stage: StageView;
  run: SideRun | null | undefined;
  take: (() => void) | null;
}) {
  const start = useStartRun(stage, 'pull-request');
  const canCommand = useCanCommand();
  if (run === undefined) return null;
  if (run !== null && isUnderWay(run))
    return <UnderWay stage={stage} run={run} text="Claude is writing the title and text" />;
  const isMissed = run !== null && run.state !== 'done' && run.state !== 'stopped';
  return (
    <>
      {isMissed && <p className={css.left}>{`Claude wrote nothing. ${run.reason ?? ''}`}</p>}
      <div className={css.switches}>
        <Button
          size="compact-md"
          variant="default"
          leftSection={<IconSparkles size={14} aria-hidden />}
          disabled={!canCommand}
          loading={start.isPending}
          onClick={() => start.mutate(undefined)}
        >
          {run?.text ? 'Ask Claude to write it again' : 'Ask Claude to write it'}
        </Button>
        {take !== null && (
          <Button size="compact-md" variant="subtle" color="gray" onClick={take}>
            Use Claude’s text
          </Button>
        )}
      </div>
    </>
  );
}

/** Why the last attempt failed: stored with its next step, or only answered. */
function LastProblem({ stage, error }: { stage: StageView; error: Error | null }) {
  const { finishing } = stage;
  if (finishing?.way === 'pull-request' && finishing.state === 'refused' && finishing.problem !== null)
    return <FinishProblemNote problem={finishing.problem} />;
  if (finishing?.state === 'under-way') return <p className={css.left}>Pushing, and opening a pull request ...</p>;
  return error === null ? null : <ErrorNote error={error} stageId={stage.id} />;
}
