import type { ReviewComment } from '@callboard/contract';
import { count } from './format.ts';

/** "line 12" or "lines 3 to 5", and of which version if it is the former one. */
export function linesText({ side, line, endLine }: Pick<ReviewComment, 'side' | 'line' | 'endLine'>): string {
  const lines = line === endLine ? `line ${line}` : `lines ${line} to ${endLine}`;
  return side === 'old' ? `${lines}, before` : lines;
}

/** How far a comment is, in a word or two. Only changed lines answer it: a reply may change nothing. */
export function stateLabel({
  state,
  answeredAt,
  hasMoved,
  isFinding,
}: Pick<ReviewComment, 'state' | 'answeredAt' | 'hasMoved' | 'isFinding'>): string {
  const draft = isFinding ? 'Not sent' : 'Draft';
  if (state === 'draft') return hasMoved ? `${draft}, the code has changed` : draft;
  if (state === 'outdated') return answeredAt === null ? 'Sent, outdated' : 'Answered';
  return state === 'sent' ? 'Sent' : 'Claude replied';
}

/** Who wrote it, as this person reads it. */
export const authorText = ({ author, isFinding }: Pick<ReviewComment, 'author' | 'isFinding'>, me: string): string =>
  isFinding ? 'Claude’s review' : author === me ? 'You' : author;

/** The button that sends them. */
export const sendText = (drafts: number): string => `Ask for changes (${count(drafts, 'comment')})`;

/** What there is besides drafts: "2 sent, 1 replied to"; empty if nothing. */
export function restText(comments: readonly Pick<ReviewComment, 'state'>[]): string {
  const of = (state: ReviewComment['state']) => comments.filter((comment) => comment.state === state).length;
  const parts = (['sent', 'answered', 'outdated'] as const).flatMap((state) =>
    of(state) === 0 ? [] : `${of(state)} ${state === 'answered' ? 'replied to' : state}`,
  );
  return parts.join(', ');
}
