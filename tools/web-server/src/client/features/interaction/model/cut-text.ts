import { count } from '../../../lib/format.ts';

/** How a long text is shortened: `[0, headEnd)` and `[tailStart, end)` are shown. */
export interface Cut {
  headEnd: number;
  tailStart: number;
  /** The hidden amount in words: "45 more lines", "1204 more characters". */
  hidden: string;
}

/** Rows shown of the end, as the last part of a command is often its point. */
const TAIL_ROWS = 3;

/** Returns where to cut a text so that it fills about `rows` rows, including its end; null if it fits whole. */
export function cutText(text: string, columns: number, rows: number): Cut | null {
  const lines = text.split('\n');
  const total = lines.reduce((sum, line) => sum + rowsOf(line, columns), 0);
  // Hiding a single row saves nothing, as the note about it takes a row too.
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

/** Returns how many characters of these lines, in this order, fit into `rows` rows; always at least part of the first line. */
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
