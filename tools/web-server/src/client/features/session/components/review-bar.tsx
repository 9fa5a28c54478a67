import { type ReviewComment, type StageView, visibleText } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconChevronUp, IconMessage } from '@tabler/icons-react';
import { useState } from 'react';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MiddleCut } from '../../../ui/middle-cut.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useSendComments, type useWriting } from '../api/comments.ts';
import { authorWords, linesWords, restWords, sendWords } from '../model/comment-words.ts';
import { CommentState } from './comment-row.tsx';
import css from './comments.module.css';

interface ReviewBarProps {
  stage: StageView;
  me: string;
  /** In the order of the changes. */
  comments: readonly ReviewComment[];
  writing: ReturnType<typeof useWriting>;
  goTo: (id: string) => void;
}

/** The comments of a review, gathered: a list that leads to each, and the button that sends the drafts as one message. */
export function ReviewBar({ stage, me, comments, writing, goTo }: ReviewBarProps) {
  const [isOpen, setOpen] = useState(false);
  const send = useSendComments(stage.id);
  const canCommand = useCanCommand();
  if (comments.length === 0) return null;
  const drafts = comments.filter(({ state, isMine }) => state === 'draft' && isMine);
  const rest = restWords(comments);
  const ask = async () => {
    await writing.finish();
    send.mutate(drafts.map(({ id }) => id));
  };
  return (
    <section className={css.bar} aria-label="Comments">
      {isOpen && <CommentList comments={comments} me={me} goTo={goTo} />}
      {send.isError && <ErrorNote lead="Not sent." error={send.error} stageId={stage.id} />}
      <div className={css.summary}>
        <button type="button" className={css.gathered} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <IconMessage size={14} aria-hidden />
          {count(comments.length, 'comment')}
          {rest !== '' && <span className={css.rest}>{rest}</span>}
          <IconChevronUp size={14} aria-hidden data-open={isOpen} />
        </button>
        {drafts.length > 0 && (
          <Button
            size="compact-md"
            disabled={!canCommand || stage.session === null}
            loading={send.isPending}
            onClick={() => void ask().catch(() => undefined)}
          >
            {sendWords(drafts.length)}
          </Button>
        )}
      </div>
    </section>
  );
}

const CommentList = ({ comments, me, goTo }: Pick<ReviewBarProps, 'comments' | 'me' | 'goTo'>) => (
  <ul className={css.list}>
    {comments.map((comment) => (
      <li key={comment.id}>
        <button type="button" className={css.item} onClick={() => goTo(comment.id)}>
          <span className={css.where}>
            <MiddleCut text={visibleText(comment.path, 'command')} />
            <span className={css.lines}>{linesWords(comment)}</span>
            <CommentState comment={comment} />
          </span>
          <span className={css.excerpt}>
            {authorWords(comment, me)}: <Seen text={comment.text} kind="prose" />
          </span>
        </button>
      </li>
    ))}
  </ul>
);
