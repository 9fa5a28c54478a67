import type { DiffSide, FileDiff } from '@callboard/contract';
import type { ChangeRow, Loaded } from './change-rows.ts';
import { numberOn } from './placed-comments.ts';
import { linesBetween, type PickedLines } from './review-ui.ts';

/** The rows of the changes, with what is known of their files. */
export interface LineRows {
  files: readonly FileDiff[];
  rows: readonly ChangeRow[];
  loadedOf: (file: FileDiff) => Loaded;
}

/** A line of a row: its number on each side, null where it is not. */
export interface LineOfRow {
  path: string;
  old: number | null;
  new: number | null;
}

/** The line of a row; null if the row has none. */
export function lineOfRow({ files, rows, loadedOf }: LineRows, index: number): LineOfRow | null {
  const row = rows[index];
  const file = row && files[row.file];
  if (file === undefined || (row?.kind !== 'line' && row?.kind !== 'pair')) return null;
  const loaded = loadedOf(file);
  if (loaded.state !== 'ready') return null;
  const number = (at: number | null, side: DiffSide) => {
    const line = at === null ? undefined : loaded.lines[at];
    return line === undefined ? null : numberOn(line, side);
  };
  const [left, right] = row.kind === 'line' ? [row.at, row.at] : [row.left, row.right];
  const found = { path: file.path, old: number(left, 'old'), new: number(right, 'new') };
  return found.old === null && found.new === null ? null : found;
}

/** The line on one side; on the other, if it is not there. */
export function pickLine({ path, ...numbers }: LineOfRow, wanted: DiffSide = 'new'): PickedLines {
  const side = numbers[wanted] === null ? (wanted === 'new' ? 'old' : 'new') : wanted;
  const line = numbers[side] ?? 1;
  return { path, side, line, endLine: line };
}

/** From lines in hand to a line that was picked with Shift: the lines between, if they are of one file and side. */
export function rangeTo(hand: PickedLines | undefined, picked: PickedLines): PickedLines {
  if (hand === undefined || hand.path !== picked.path || hand.side !== picked.side) return picked;
  return linesBetween(hand, picked.line);
}

/** Where the keys go from the lines in hand. @returns the lines, and the row to show; null at the end */
export function nextHand(
  all: LineRows,
  { hand, first, by, extend }: { hand: PickedLines | undefined; first: number; by: 1 | -1; extend: boolean },
): { hand: PickedLines; row: number } | null {
  const from = hand === undefined ? null : rowOf(all, hand, by);
  for (let row = from === null ? first : from + by; row >= 0 && row < all.rows.length; row += by) {
    const line = lineOfRow(all, row);
    if (line === null) continue;
    if (!extend || hand === undefined) return { hand: pickLine(line), row };
    if (line.path !== hand.path) return null;
    const number = line[hand.side];
    if (number === null) continue;
    return { hand: { ...hand, line: Math.min(hand.line, number), endLine: Math.max(hand.endLine, number) }, row };
  }
  return null;
}

/** The row of the last of these lines, or of the first one on the way up. */
function rowOf(all: LineRows, { path, side, line, endLine }: PickedLines, by: 1 | -1): number | null {
  const wanted = by > 0 ? endLine : line;
  const { files, rows } = all;
  for (let row = 0; row < rows.length; row += 1) {
    const file = rows[row]?.file;
    if (file === undefined || files[file]?.path !== path) continue;
    if (lineOfRow(all, row)?.[side] === wanted) return row;
  }
  return null;
}
