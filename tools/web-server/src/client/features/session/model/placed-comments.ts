import type { DiffSide, FileDiff, ReviewComment } from '@callboard/contract';
import { memoizeByObject } from '../../../lib/memoize.ts';
import type { PatchLine } from './patch.ts';

/** Comments by the place in the patch that they stand below; those whose lines the patch does not have come first, at -1. */
export type Placed<T> = ReadonlyMap<number, readonly T[]>;

type Positioned = Pick<ReviewComment, 'path' | 'side' | 'endLine' | 'version' | 'quote'>;

/** By side: the place in the patch of each line. */
const locationsOf = memoizeByObject((lines: readonly PatchLine[]) => {
  const places: Record<DiffSide, Map<number, number>> = { old: new Map(), new: new Map() };
  for (const [at, { before, after }] of lines.entries()) {
    if (before !== null) places.old.set(before, at);
    if (after !== null) places.new.set(after, at);
  }
  return places;
});

/** The place in the patch of a line; undefined if the patch does not have it. */
const positionOfLine = (lines: readonly PatchLine[], side: DiffSide, line: number): number | undefined =>
  locationsOf(lines)[side].get(line);

/** The number of a line of the patch on one side; null if it is not there. */
export const numberOn = ({ before, after }: PatchLine, side: DiffSide): number | null =>
  side === 'old' ? before : after;

/** Places the comments of a file below their last lines. */
export function placeComments<T extends Positioned>(
  file: Pick<FileDiff, 'version'>,
  lines: readonly PatchLine[],
  comments: readonly T[],
): Placed<T> {
  const [old = '', now = ''] = file.version.split('..');
  const placed = new Map<number, T[]>();
  for (const comment of comments) {
    const { side, endLine, version } = comment;
    const isSame = version === (side === 'old' ? old : now);
    const line = isSame ? endLine : (lineLike(lines, comment) ?? endLine);
    const at = positionOfLine(lines, side, line) ?? -1;
    placed.set(at, [...(placed.get(at) ?? []), comment]);
  }
  return placed;
}

/** The file on the page is not the one that the comment's lines are of: its last line is looked for, the nearest one. */
function lineLike(lines: readonly PatchLine[], { side, endLine, quote }: Positioned): number | null {
  const wanted = quote.split('\n').at(-1);
  if (wanted === undefined || wanted.trim() === '') return null;
  let best: number | null = null;
  for (const line of lines) {
    const number = numberOn(line, side);
    if (number === null || line.text !== wanted) continue;
    if (best === null || Math.abs(number - endLine) < Math.abs(best - endLine)) best = number;
  }
  return best;
}

/** Comments in the order of the files, and of the lines in them; those on files that have not changed come last. */
export function inOrderOf<T extends Pick<ReviewComment, 'path' | 'line'>>(
  files: readonly Pick<FileDiff, 'path'>[],
  comments: readonly T[],
): T[] {
  const places = new Map(files.map(({ path }, at) => [path, at]));
  const place = ({ path }: T) => places.get(path) ?? files.length;
  return comments.toSorted((a, b) => place(a) - place(b) || a.line - b.line);
}
