import type { DiffSide, FileDiff } from '@callboard/contract';
import type { PatchLine } from './patch.ts';
import type { Placed } from './placed-comments.ts';

/** What is known of a file's patch. */
export type Loaded =
  | { state: 'loading' }
  | { state: 'failed'; error: Error }
  /** `patch`: null if it cannot be shown. */
  | { state: 'ready'; patch: string | null; lines: readonly PatchLine[] };

/** A row of the list of changes: the heads of files, and below each what is open of it. */
export type ChangeRow = { key: string; file: number } & (
  | { kind: 'file' | 'folded' | 'loading' | 'failed' | 'about' }
  /** A comment, or one that is being written, below the lines it is about. */
  | { kind: 'comment'; id: string; side: DiffSide; isAside: boolean }
  | { kind: 'line'; at: number }
  /** Side by side; the numbers are places in the patch. */
  | { kind: 'pair'; left: number | null; right: number | null }
);

interface RowsInput {
  files: readonly FileDiff[];
  isOpen: (file: FileDiff) => boolean;
  loadedOf: (file: FileDiff) => Loaded;
  isSplit: boolean;
  /** Whether the file is folded for what it is, and says so. */
  isSetAside?: (file: FileDiff) => boolean;
  /** Whether the file is shown as an image; its lines are left out then. */
  isImage?: (file: FileDiff) => boolean;
  /** The comments of a file whose lines are known. */
  commentsOf?: (file: FileDiff, lines: readonly PatchLine[]) => Placed<CommentOfRow>;
}

/** What a row shows of a comment. */
export interface CommentOfRow {
  id: string;
  side: DiffSide;
}

const NO_COMMENTS: ReadonlyMap<number, readonly CommentOfRow[]> = new Map();

/** All rows, top to bottom. */
export function changeRows(input: RowsInput): ChangeRow[] {
  const { files, isOpen, loadedOf, isSetAside } = input;
  const rows: ChangeRow[] = [];
  for (const [at, file] of files.entries()) {
    const key = file.path;
    rows.push({ key, file: at, kind: 'file' });
    if (!isOpen(file)) {
      if (isSetAside?.(file)) rows.push({ key: `${key}\0folded`, file: at, kind: 'folded' });
      continue;
    }
    const loaded = loadedOf(file);
    if (loaded.state === 'ready') addLines(rows, input, at, loaded.lines);
    else rows.push({ key: `${key}\0${loaded.state}`, file: at, kind: loaded.state });
  }
  return rows;
}

/** Adds what is known of a file: what is to be said about it, its lines, and the comments below them. */
function addLines(rows: ChangeRow[], input: RowsInput, at: number, patch: readonly PatchLine[]): void {
  const { files, isSplit, isImage, commentsOf } = input;
  const file = files[at];
  if (file === undefined) return;
  const lines = isImage?.(file) ? [] : patch;
  const comments = commentsOf?.(file, lines) ?? NO_COMMENTS;
  const hasTwoSides = isSplit && (file.status === 'modified' || file.status === 'renamed');
  const addComments = (place: number | null, isAside: boolean) => {
    for (const { id, side } of (place !== null && comments.get(place)) || [])
      rows.push({ key: `comment\0${id}`, file: at, kind: 'comment', id, side, isAside });
  };
  rows.push({ key: `${file.path}\0about`, file: at, kind: 'about' });
  addComments(-1, false);
  const shown = hasTwoSides ? pairs(lines) : lines.map((_, line) => ({ kind: 'line' as const, at: line }));
  for (const [place, line] of shown.entries()) {
    rows.push({ key: `${file.path}\0${isSplit}${place}`, file: at, ...line });
    if (comments.size === 0) continue;
    if (line.kind === 'line') addComments(line.at, false);
    else {
      addComments(line.left, true);
      if (line.right !== line.left) addComments(line.right, true);
    }
  }
}

type Pair = { kind: 'line'; at: number } | { kind: 'pair'; left: number | null; right: number | null };

/** Lines side by side: unchanged ones on both sides, each removed line beside the added one that may have replaced it. */
export function pairs(lines: readonly PatchLine[]): Pair[] {
  const found: Pair[] = [];
  for (let at = 0; at < lines.length; ) {
    const run = runAt(lines, at);
    if (run === null) {
      found.push(lines[at]?.kind === 'same' ? { kind: 'pair', left: at, right: at } : { kind: 'line', at });
      at += 1;
      continue;
    }
    const { removed, added, end } = run;
    for (let n = 0; n < Math.max(removed.length, added.length); n += 1)
      found.push({ kind: 'pair', left: removed[n] ?? null, right: added[n] ?? null });
    at = end;
  }
  return found;
}

/** By place in the patch: the line that replaces it, or that it replaces; null for all others. */
export function partners(lines: readonly PatchLine[]): (number | null)[] {
  const found: (number | null)[] = lines.map(() => null);
  for (let at = 0; at < lines.length; ) {
    const run = runAt(lines, at);
    if (run !== null)
      for (const [n, left] of run.removed.entries()) {
        const right = run.added[n];
        if (right === undefined) break;
        [found[left], found[right]] = [right, left];
      }
    at = run?.end ?? at + 1;
  }
  return found;
}

/** The removed and added lines that follow one another from here on; null if there are none. Remarks between them are skipped. */
function runAt(lines: readonly PatchLine[], from: number): { removed: number[]; added: number[]; end: number } | null {
  const removed: number[] = [];
  const added: number[] = [];
  let end = from;
  for (; end < lines.length; end += 1) {
    const kind = lines[end]?.kind;
    if (kind === 'removed' && added.length === 0) removed.push(end);
    else if (kind === 'added') added.push(end);
    else break;
  }
  return end === from ? null : { removed, added, end };
}
