import type { ReviewComment, StageView } from '@callboard/contract';
import { Button, Checkbox } from '@mantine/core';
import { IconChevronUp, IconMessage } from '@tabler/icons-react';
import { useState } from 'react';
import { count } from '../../../lib/format.ts';
import { pathText } from '../../../lib/paths.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MiddleCut } from '../../../ui/middle-cut.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useSendComments, type useWriting } from '../api/comments.ts';
import { authorText, linesText, restText, sendText } from '../model/comment-words.ts';
import { AskForReview, ReviewOutcome } from './claude-review.tsx';
import { CommentState } from './comment-row.tsx';
import css from './comments.module.css';

interface ReviewBarProps {
  stage: StageView;
  me: string;
  /** In the order of the changes. */
  comments: readonly ReviewComment[];
  /** Whether there is something to review. */
  hasChanges: boolean;
  writing: ReturnType<typeof useWriting>;
  goTo: (id: string) => void;
}

const isToSend = ({ state, isMine }: ReviewComment): boolean => state === 'draft' && isMine;

/** A review: what Claude's own found, the comments in a list that leads to each, and the button that sends the chosen ones as one message. */
export function ReviewBar({ stage, me, comments, hasChanges, writing, goTo }: ReviewBarProps) {
  const [isOpen, setOpen] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const send = useSendComments(stage.id);
  const canCommand = useCanCommand();
  const open = comments.filter(isToSend);
  const chosen = open.filter(({ id }) => !left.has(id));
  const rest = restText(comments);
  const choose = (id: string, isChosen: boolean) =>
    setLeft(new Set(isChosen ? [...left].filter((one) => one !== id) : [...left, id]));
  const ask = async () => {
    await writing.finish();
    send.mutate(chosen.map(({ id }) => id));
  };
  if (comments.length === 0 && !hasChanges) return null;
  return (
    <section className={css.bar} aria-label="Comments">
      <ReviewOutcome stage={stage} />
      {isOpen && <CommentList comments={comments} me={me} goTo={goTo} left={left} choose={choose} />}
      {send.isError && <ErrorNote lead="Not sent." error={send.error} stageId={stage.id} />}
      <div className={css.summary}>
        {comments.length > 0 && (
          <button type="button" className={css.gathered} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <IconMessage size={14} aria-hidden />
            {count(comments.length, 'comment')}
            {rest !== '' && <span className={css.rest}>{rest}</span>}
            <IconChevronUp size={14} aria-hidden data-open={isOpen} />
          </button>
        )}
        <span className={css.acts}>
          {hasChanges && <AskForReview stage={stage} />}
          {open.length > 0 && (
            <Button
              size="compact-md"
              disabled={!canCommand || stage.session === null || chosen.length === 0}
              loading={send.isPending}
              onClick={() => void ask().catch(() => undefined)}
            >
              {sendText(chosen.length)}
            </Button>
          )}
        </span>
      </div>
    </section>
  );
}

interface CommentListProps extends Pick<ReviewBarProps, 'comments' | 'me' | 'goTo'> {
  /** Those that are not to be sent. */
  left: ReadonlySet<string>;
  choose: (id: string, isChosen: boolean) => void;
}

const CommentList = ({ comments, me, goTo, left, choose }: CommentListProps) => (
  <ul className={css.list}>
    {comments.map((comment) => (
      <li key={comment.id} className={css.entry}>
        {isToSend(comment) && (
          <Checkbox
            className={css.choice}
            aria-label={`Send the comment on ${linesText(comment)} of ${pathText(comment.path)}`}
            checked={!left.has(comment.id)}
            onChange={(event) => choose(comment.id, event.currentTarget.checked)}
          />
        )}
        <button type="button" className={css.item} onClick={() => goTo(comment.id)}>
          <span className={css.where}>
            <MiddleCut text={pathText(comment.path)} />
            <span className={css.lines}>{linesText(comment)}</span>
            <CommentState comment={comment} />
          </span>
          <span className={css.excerpt}>
            {authorText(comment, me)}: <Seen text={comment.text} kind="prose" />
          </span>
        </button>
      </li>
    ))}
  </ul>
);
