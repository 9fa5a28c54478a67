import type { ReviewComment, StageId } from '@callboard/contract';
import { ActionIcon, Button } from '@mantine/core';
import { IconCheck, IconHistory, IconPencil, IconSend, IconSparkles, IconTrash } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useRemoveComment, type useWriting } from '../api/comments.ts';
import { authorText, linesText, stateLabel } from '../model/comment-words.ts';
import { useReviewUi } from '../model/review-ui.ts';
import { CommentComposer } from './comment-composer.tsx';
import css from './comments.module.css';

export interface CommentRowProps {
  stageId: StageId;
  me: string;
  /** Null for one that is being written and is not stored yet. */
  comment: ReviewComment | null;
  writing: ReturnType<typeof useWriting>;
  /** The comment that keys went to. */
  target: string | null;
  /** In the half of its side. */
  isAside: boolean;
}

/** A comment below the lines that it is about, or the box in which it is written. */
export function CommentRow({ comment, writing, isAside, ...shared }: CommentRowProps) {
  const own = writing.writing;
  const side = comment?.side ?? own?.side ?? 'new';
  const isWriting = own !== undefined && (comment === null || comment.id === own.id);
  return (
    <div className={css.place} data-side={isAside ? side : undefined}>
      {isWriting ? (
        <CommentComposer writing={own} parts={writing} />
      ) : (
        comment !== null && <CommentCard comment={comment} {...shared} />
      )}
    </div>
  );
}

const ICONS = { draft: IconPencil, sent: IconSend, answered: IconCheck, outdated: IconHistory } as const;

/** How far a comment is: an icon and a word. */
export function CommentState({ comment }: { comment: ReviewComment }) {
  const Icon = ICONS[comment.state];
  return (
    <span className={css.state} data-state={comment.state}>
      <Icon size={13} aria-hidden /> {stateLabel(comment)}
    </span>
  );
}

const SEVERITY = { high: 'High', medium: 'Medium', low: 'Low' } as const;

function CommentCard({
  stageId,
  me,
  comment,
  target,
}: Pick<CommentRowProps, 'stageId' | 'me' | 'target'> & { comment: ReviewComment }) {
  const card = useRef<HTMLElement>(null);
  const isTarget = target === comment.id;
  useEffect(() => {
    if (isTarget) card.current?.focus({ preventScroll: true });
  }, [isTarget]);
  const { path, side, line, endLine, text, id, isFinding, severity } = comment;
  const who = authorText(comment, me);
  const edit = () =>
    useReviewUi.getState().write(stageId, { path, side, line, endLine, id, text, original: text, isAsked: false });
  return (
    <article
      className={css.card}
      ref={card}
      tabIndex={-1}
      data-comment={id}
      data-state={comment.state}
      aria-label={`Comment of ${who} on ${linesText(comment)}: ${stateLabel(comment)}`}
    >
      <header className={css.head}>
        {isFinding && <IconSparkles size={14} aria-hidden />}
        <strong>{who}</strong>
        {severity !== null && <span className={css.severity}>{SEVERITY[severity]}</span>}
        <span className={css.lines}>{linesText(comment)}</span>
        <span className={css.time}>
          <TimeSince at={comment.sentAt ?? comment.createdAt} ago />
        </span>
        <CommentState comment={comment} />
        {comment.isMine && <CommentActions stageId={stageId} comment={comment} edit={edit} />}
      </header>
      {comment.hasMoved && (
        <pre className={css.quote}>
          <Seen text={comment.quote} kind="code" />
        </pre>
      )}
      <p className={css.text}>
        <Seen text={text} kind="prose" />
      </p>
    </article>
  );
}

function CommentActions({ stageId, comment, edit }: { stageId: StageId; comment: ReviewComment; edit: () => void }) {
  const [isAsked, ask] = useState(false);
  const remove = useRemoveComment(stageId);
  const canCommand = useCanCommand();
  const verb = comment.isFinding ? 'Dismiss' : 'Remove';
  if (isAsked)
    return (
      <span className={css.actions}>
        <span>{verb} this comment?</span>
        <Button
          size="compact-xs"
          variant="default"
          autoFocus
          loading={remove.isPending}
          disabled={!canCommand}
          onClick={() => remove.mutate(comment.id)}
        >
          {verb}
        </Button>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => ask(false)}>
          Keep
        </Button>
      </span>
    );
  return (
    <span className={css.actions}>
      <ActionIcon variant="subtle" color="gray" size={24} aria-label="Edit the comment" title="Edit" onClick={edit}>
        <IconPencil size={14} aria-hidden />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={24}
        aria-label={`${verb} the comment`}
        title={verb}
        onClick={() => ask(true)}
      >
        <IconTrash size={14} aria-hidden />
      </ActionIcon>
    </span>
  );
}
