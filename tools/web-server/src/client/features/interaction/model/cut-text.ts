import { count } from '../../../lib/format.ts';

/** A text that is too long to stand there whole: `[0, headEnd)` and `[tailStart, end)` are shown. */
export interface Cut {
  headEnd: number;
  tailStart: number;
  /** What is between them: "45 more lines", "1204 more characters". */
  hidden: string;
}

/** Shown of the end: what a command does last is what it is often about. */
const TAIL_ROWS = 3;

/** Where to cut a text so that it fills about so many rows, its end included; null where it is to stay whole. */
export function cutText(text: string, columns: number, rows: number): Cut | null {
  const lines = text.split('\n');
  const total = lines.reduce((sum, line) => sum + rowsOf(line, columns), 0);
  // Room for what is hidden is worth as much as the row that tells of it.
  if (total <= rows + 1) return null;
  const fromEnd = text.length - lengthWithin(lines.toReversed(), columns, TAIL_ROWS);
  const tailStart = text[fromEnd] === '\n' ? fromEnd + 1 : fromEnd;
  const headEnd = lengthWithin(lines, columns, rows - TAIL_ROWS - 1);
  const between = text.slice(headEnd, tailStart).replace(/^\n/, '').replace(/\n$/, '');
  const isOneLine = !between.includes('\n');
  const hidden = isOneLine ? count(between.length, 'more character') : count(between.split('\n').length, 'more line');
  return { headEnd, tailStart, hidden };
}

const rowsOf = (line: string, columns: number) => Math.max(1, Math.ceil(line.length / columns));

/** How many characters of these lines, in this order, fit into so many rows; at least a part of the first one. */
function lengthWithin(lines: readonly string[], columns: number, rows: number): number {
  let length = 0;
  let left = rows;
  for (const line of lines) {
    const needed = rowsOf(line, columns);
    if (needed > left) return left === rows ? left * columns : length;
    length += line.length + 1;
    left -= needed;
  }
  return length;
}
