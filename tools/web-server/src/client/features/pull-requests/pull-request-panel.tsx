import {
  type CommandInput,
  type Finishing,
  type HostComment,
  isOpenPullRequest,
  isUnderWay,
  type PullRequest,
  type PullRequestPlan,
  type PullRequestText,
  type SideRun,
  type StageView,
} from '@callboard/contract';
import { ActionIcon, Button, Checkbox, Group, Loader, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconRefresh, IconSparkles } from '@tabler/icons-react';
import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { hasMoreToPush, openActionText, openPlanText, pullRequestText } from '../../lib/pull-request-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import css from '../../ui/finish.module.css';
import { ErrorNote, FinishProblemNote } from '../../ui/notes.tsx';
import { Hint, ScrollList } from '../../ui/primitives.tsx';
import { PullRequestLine } from '../../ui/pull-request-line.tsx';
import { UnderWay, useNewestRun, useStartRun } from '../review/claude-review.tsx';

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
  const commit = message ?? stage.title.trim();
  const hasOpen = plan.uncommittedCount > 0;
  const isIncomplete = (open === null && texts.title.trim() === '') || (hasOpen && commit.trim() === '');
  const send = () => {
    const { head, tree } = plan;
    const reported = open === null ? { ...texts, draft, receipt } : {};
    order.mutate({ head, tree, ...reported, ...(hasOpen && { commit: { message: commit } }) }, { onError: readAgain });
  };
  return (
    <>
      <p>{openPlanText(plan, open)}</p>
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
          <Group gap="8px 16px">
            <Checkbox label="Draft" checked={draft} onChange={(event) => setDraft(event.currentTarget.checked)} />
            <Checkbox
              label="Record the approvals in the description"
              checked={receipt}
              onChange={(event) => setReceipt(event.currentTarget.checked)}
            />
          </Group>
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
      {isMissed && <Hint>{`Claude wrote nothing. ${run.reason ?? ''}`}</Hint>}
      <Group gap="8px 16px">
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
      </Group>
    </>
  );
}

/** Why the last attempt failed: stored with its next step, or only answered. */
function LastProblem({ stage, error }: { stage: StageView; error: Error | null }) {
  const { finishing } = stage;
  if (finishing?.way === 'pull-request' && finishing.state === 'refused' && finishing.problem !== null)
    return <FinishProblemNote problem={finishing.problem} />;
  if (finishing?.state === 'under-way') return <Hint>Pushing, and opening a pull request ...</Hint>;
  return error === null ? null : <ErrorNote error={error} stageId={stage.id} />;
}

/** What opening a pull request would do, read again after each turn and each push. */
const pullRequestPlanQuery = ({ id, session, pullRequest, worktree }: StageView) =>
  queryOptions({
    queryKey: ['pull-request', id, session?.state, session?.lastTurn?.at, pullRequest?.head, worktree?.branch],
    queryFn: async ({ signal }) => (await client.command('get_pull_request', { stageId: id }, { signal })).plan,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

/** Returns a function that has the plan of the stage's pull request read again. */
export function useReadPullRequestPlan({ id }: StageView): () => void {
  const cache = useQueryClient();
  return () => void cache.invalidateQueries({ queryKey: ['pull-request', id] });
}

/** Failed checks and comments, as they are at the code host. */
const feedbackQuery = ({ id }: StageView, { number, checks, unresolved, checkedAt }: PullRequest) =>
  queryOptions({
    queryKey: ['feedback', id, number, checks, unresolved, checkedAt],
    queryFn: async ({ signal }) => (await client.command('get_feedback', { stageId: id }, { signal })).feedback,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

type Order = Omit<CommandInput<'open_pull_request'>, 'stageId'>;

/** Pushes, and opens a pull request. The caller shows refusals. */
const useOpenPullRequest = (stage: StageView, done: () => void) =>
  useCommand({
    run: (order: Order) => client.command('open_pull_request', { stageId: stage.id, ...order }),
    done: ({ stage: { title, pullRequest } }) => {
      if (pullRequest !== null)
        notifications.show({ title, message: pullRequestText(pullRequest), color: 'gray', autoClose: 10_000 });
      done();
    },
  });

const useRefreshPullRequest = (stage: StageView) =>
  useCommand({
    run: (_: undefined) => client.command('refresh_pull_request', { stageId: stage.id }),
    failed: 'The code host was not asked',
    stageId: () => stage.id,
  });

type Chosen = Omit<CommandInput<'send_feedback'>, 'stageId'>;

/** Sends what came back of the pull request to Claude. */
const useSendFeedback = (stage: StageView, done: () => void) =>
  useCommand({
    run: (chosen: Chosen) => client.command('send_feedback', { stageId: stage.id, ...chosen }),
    failed: 'Nothing was sent to Claude',
    stageId: () => stage.id,
    done,
  });

interface PullRequestStateProps {
  stage: StageView;
  pullRequest: PullRequest;
  /** Called once something was sent to Claude. */
  done: () => void;
}

/** What the code host says of the pull request, and what of it can be given to Claude. */
function PullRequestState({ stage, pullRequest, done }: PullRequestStateProps) {
  const refresh = useRefreshPullRequest(stage);
  const canCommand = useCanCommand();
  const isOpen = isOpenPullRequest(pullRequest);
  return (
    <Stack>
      <Group justify="space-between" wrap="nowrap">
        <PullRequestLine pullRequest={pullRequest} isLink />
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label="Refresh the pull request"
          title="Refresh"
          disabled={!canCommand}
          loading={refresh.isPending}
          onClick={() => refresh.mutate(undefined)}
        >
          <IconRefresh size={16} />
        </ActionIcon>
      </Group>
      {pullRequest.stale !== null && <Hint>{pullRequest.stale}</Hint>}
      {isOpen && pullRequest.failing.length > 0 && <Hint>Failing: {pullRequest.failing.join(', ')}</Hint>}
      {isOpen && <ToClaude stage={stage} pullRequest={pullRequest} done={done} />}
    </Stack>
  );
}

/** One click each: failed checks with their logs, a conflict, or comments that are chosen. */
function ToClaude({ stage, pullRequest, done }: PullRequestStateProps) {
  const [isChoosing, setChoosing] = useState(false);
  const send = useSendFeedback(stage, done);
  const isOff = !useCanCommand() || send.isPending;
  const { failing, checks, unresolved, conflicts } = pullRequest;
  if (stage.session === null) return null;
  const hasFailed = checks === 'failing' && failing.length > 0;
  if (!hasFailed && !conflicts && (unresolved ?? 0) === 0) return null;
  return (
    <>
      {isChoosing && (
        <Comments
          stage={stage}
          pullRequest={pullRequest}
          isOff={isOff}
          send={(comments) => send.mutate({ comments })}
          isSending={send.isPending}
        />
      )}
      <div className={css.actions}>
        {(unresolved ?? 0) > 0 && !isChoosing && (
          <Button variant="default" disabled={isOff} onClick={() => setChoosing(true)}>
            Choose {count(unresolved ?? 0, 'comment')} ...
          </Button>
        )}
        {conflicts && (
          <Button
            variant={hasFailed ? 'default' : 'filled'}
            disabled={isOff}
            onClick={() => send.mutate({ conflict: true })}
          >
            Give the conflict to Claude
          </Button>
        )}
        {hasFailed && (
          <Button
            variant={isChoosing ? 'default' : 'filled'}
            disabled={isOff}
            loading={send.isPending}
            onClick={() => send.mutate({ checks: failing })}
          >
            Send failing checks to Claude
          </Button>
        )}
      </div>
    </>
  );
}

interface CommentsProps extends Omit<PullRequestStateProps, 'done'> {
  isOff: boolean;
  isSending: boolean;
  send: (ids: string[]) => void;
}

function Comments({ stage, pullRequest, isOff, isSending, send }: CommentsProps) {
  const { data, error, refetch } = useQuery(feedbackQuery(stage, pullRequest));
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  if (error !== null)
    return <ErrorNote lead="The comments could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" color="gray" role="img" aria-label="Reading the comments" />;
  const chosen = data.comments.filter(({ id }) => !left.has(id));
  const toggle = (id: string) =>
    setLeft((now) => (now.has(id) ? new Set([...now].filter((one) => one !== id)) : new Set([...now, id])));
  return (
    <>
      <ScrollList mah={320} aria-label="Unresolved comments">
        {data.comments.map((comment) => (
          <li key={comment.id}>
            <Checkbox
              checked={!left.has(comment.id)}
              onChange={() => toggle(comment.id)}
              label={<CommentText comment={comment} />}
            />
          </li>
        ))}
      </ScrollList>
      <div className={css.actions}>
        <Button
          disabled={isOff || chosen.length === 0}
          loading={isSending}
          onClick={() => send(chosen.map(({ id }) => id))}
        >
          Send {count(chosen.length, 'comment')} to Claude
        </Button>
      </div>
    </>
  );
}

const CommentText = ({ comment: { path, line, author, text } }: { comment: HostComment }) => (
  <Text span size="row">
    <code>{path === null ? 'pull request' : `${path}${line === null ? '' : `:${line}`}`}</code> {author}
    <Text span inherit c="dimmed" className="pre-wrap" display="block">
      {text}
    </Text>
  </Text>
);
