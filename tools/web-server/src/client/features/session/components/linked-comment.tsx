import type { ReviewComment, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { commentsQuery } from '../../../data/review-queries.ts';
import { pathText } from '../../../lib/paths.ts';
import { Note } from '../../../ui/note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { authorText, linesText } from '../model/comment-words.ts';
import css from './comments.module.css';
import { useCommentOfAddress } from './use-linked-comment.ts';

interface LinkedCommentProps {
  stageId: StageId;
  /** The files that have changed; null if there is nothing that could be compared. */
  paths: readonly string[] | null;
}

/** The comment that the address names, if the changes have no place for it. */
export function LinkedComment({ stageId, paths }: LinkedCommentProps) {
  const id = useCommentOfAddress();
  const { data: comments } = useQuery({ ...commentsQuery(stageId), enabled: id !== null });
  if (id === null || comments === undefined) return null;
  const comment = comments.find((one) => one.id === id);
  if (comment === undefined) return <Note>This comment was removed.</Note>;
  return paths?.includes(comment.path) ? null : <Placeless comment={comment} />;
}

function Placeless({ comment }: { comment: ReviewComment }) {
  const me = useQuery({ ...boardQuery, select: (view) => view.me.name }).data ?? '';
  return (
    <Note>
      {authorText(comment, me)} on {linesText(comment)} of {pathText(comment.path)}, which is not among the changes now:
      <pre className={css.quote}>
        <Seen text={comment.quote} kind="code" />
      </pre>
      <p className={css.text}>
        <Seen text={comment.text} kind="prose" />
      </p>
    </Note>
  );
}
