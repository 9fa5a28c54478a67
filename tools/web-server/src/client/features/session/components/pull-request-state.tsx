import { type HostComment, isOpenPullRequest, type PullRequest, type StageView } from '@callboard/contract';
import { ActionIcon, Button, Checkbox, Loader } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { PullRequestLine } from '../../../ui/pull-request-line.tsx';
import { feedbackQuery, useRefreshPullRequest, useSendFeedback } from '../api/pull-request.ts';
import css from './finish.module.css';

interface PullRequestStateProps {
  stage: StageView;
  pullRequest: PullRequest;
  /** Called once something was sent to Claude. */
  done: () => void;
}

/** What the code host says of the pull request, and what of it can be given to Claude. */
export function PullRequestState({ stage, pullRequest, done }: PullRequestStateProps) {
  const refresh = useRefreshPullRequest(stage);
  const canCommand = useCanCommand();
  const isOpen = isOpenPullRequest(pullRequest);
  return (
    <div className={css.pullRequest}>
      <div className={css.head}>
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
      </div>
      {pullRequest.stale !== null && <p className={css.left}>{pullRequest.stale}</p>}
      {isOpen && pullRequest.failing.length > 0 && (
        <p className={css.left}>Failing: {pullRequest.failing.join(', ')}</p>
      )}
      {isOpen && <ToClaude stage={stage} pullRequest={pullRequest} done={done} />}
    </div>
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
      <ul className={css.comments} aria-label="Unresolved comments">
        {data.comments.map((comment) => (
          <li key={comment.id}>
            <Checkbox
              checked={!left.has(comment.id)}
              onChange={() => toggle(comment.id)}
              label={<CommentText comment={comment} />}
            />
          </li>
        ))}
      </ul>
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
  <span className={css.comment}>
    <code>{path === null ? 'pull request' : `${path}${line === null ? '' : `:${line}`}`}</code> {author}
    <span className={css.commentText}>{text}</span>
  </span>
);
