import type { ReviewComment } from '@callboard/contract';
import { fenced } from '../lib/fenced.ts';

type Sent = Pick<ReviewComment, 'path' | 'side' | 'line' | 'endLine' | 'quote' | 'text' | 'hasMoved' | 'isFinding'>;

/** Returns the message that Claude gets for comments on its changes: file and lines, the code as it was quoted, and the text. */
export function reviewMessage(comments: readonly Sent[]): string {
  const lead =
    comments.length === 1
      ? 'Please address this comment on your changes.'
      : `Please address these ${comments.length} comments on your changes.`;
  const parts = comments.map((comment, at) => {
    const number = comments.length === 1 ? '' : `${at + 1}. `;
    return `${number}${locationText(comment)}\n${fenced(comment.quote)}\n${comment.text.trim()}`;
  });
  return [lead, ...parts].join('\n\n').toWellFormed();
}

/** Names the file and the lines, and the version of the file if that is not the present one. */
function locationText({ path, side, line, endLine, hasMoved, isFinding }: Sent): string {
  const lines = line === endLine ? `line ${line}` : `lines ${line} to ${endLine}`;
  const remarks = [
    ...(side === 'old' ? ['in the version before your changes'] : []),
    ...(hasMoved ? ['this code has changed since'] : []),
    ...(isFinding ? ['from your own review'] : []),
  ];
  return `${path}, ${lines}${remarks.length === 0 ? '' : ` (${remarks.join('; ')})`}:`;
}

const MAX_LINES = 40;
const MAX_CHARACTERS = 8_000;

/** Returns the quote of lines. Of many lines, the first and the last ones; a very long line is cut. */
export function quoteOf(lines: readonly string[]): string {
  const left = lines.length - MAX_LINES;
  const saved =
    left <= 0 ? lines : [...lines.slice(0, MAX_LINES - 10), `[${left} lines left out]`, ...lines.slice(-10)];
  const each = Math.floor(MAX_CHARACTERS / Math.max(1, saved.length));
  const total = saved.reduce((sum, line) => sum + line.length, 0);
  if (total <= MAX_CHARACTERS) return saved.join('\n');
  return saved.map((line) => (line.length > each ? `${line.slice(0, each)}…` : line)).join('\n');
}
