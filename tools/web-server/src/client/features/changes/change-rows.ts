import type { DiffSide, FileDiff, ReviewComment } from '@callboard/contract';
import { diffWordsWithSpace } from 'diff';
import type { HighlightTree } from '../../lib/highlighter.ts';
import { memoizeByObject } from '../../lib/memoize.ts';

/** What is known of a file's patch. */
export type Loaded =
  | { state: 'loading' }
  | { state: 'failed'; error: Error }
  /** `patch`: the parts that were read; null if it cannot be shown. `isPart`: more of it follows. */
  | { state: 'ready'; patch: readonly string[] | null; lines: readonly PatchLine[]; isPart: boolean };

/** A row of the list of changes: the heads of files, and below each what is open of it. */
export type ChangeRow = { key: string; file: number } & (
  | { kind: 'file' | 'folded' | 'loading' | 'failed' | 'about' | 'more' }
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
    if (loaded.state !== 'ready') {
      rows.push({ key: `${key}\0${loaded.state}`, file: at, kind: loaded.state });
      continue;
    }
    addLines(rows, input, at, loaded.lines);
    if (loaded.isPart && !input.isImage?.(file)) rows.push({ key: `${key}\0more`, file: at, kind: 'more' });
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
  const addComments = (place: number | null, isAside: boolean) => {
    for (const { id, side } of (place !== null && comments.get(place)) || [])
      rows.push({ key: `comment\0${id}`, file: at, kind: 'comment', id, side, isAside });
  };
  rows.push({ key: `${file.path}\0about`, file: at, kind: 'about' });
  addComments(-1, false);
  const hasTwoSides = isSplit && (file.status === 'modified' || file.status === 'renamed');
  for (const row of lineRowsOf(lines)({ path: file.path, at, isSplit, hasTwoSides })) {
    rows.push(row);
    if (comments.size === 0) continue;
    if (row.kind === 'line') addComments(row.at, false);
    else {
      addComments(row.left, true);
      if (row.right !== row.left) addComments(row.right, true);
    }
  }
}

type LineRow = Extract<ChangeRow, { kind: 'line' | 'pair' }>;

interface LineRowsOptions {
  path: string;
  /** The place of the file. */
  at: number;
  isSplit: boolean;
  hasTwoSides: boolean;
}

/** By patch: its rows as they were made last. A file may have tens of thousands, and another one changes none of them. */
const lineRowsOf = memoizeByObject((lines: readonly PatchLine[]) => {
  let made: LineRow[] = [];
  let madeFor = '';
  return ({ path, at, isSplit, hasTwoSides }: LineRowsOptions): readonly LineRow[] => {
    const wanted = `${at} ${isSplit} ${hasTwoSides} ${path}`;
    if (madeFor === wanted) return made;
    madeFor = wanted;
    const shown: Pair[] = hasTwoSides ? pairs(lines) : lines.map((_, line) => ({ kind: 'line', at: line }));
    made = shown.map((line, place) => ({ key: `${path}\0${isSplit}${place}`, file: at, ...line }));
    return made;
  };
});

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

/** A line of a unified diff, with its line numbers before and after. */
export interface PatchLine {
  kind: 'same' | 'removed' | 'added' | 'gap' | 'remark';
  text: string;
  before: number | null;
  after: number | null;
  /** How long the line is, if only its beginning is there. */
  bytes?: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** What was read of a patch, and where in a hunk its next part begins. */
export interface PatchRead {
  lines: readonly PatchLine[];
  /** How many lines of the hunk are missing, and the number of the next one, on both sides. */
  left: { before: number; after: number };
  next: { before: number; after: number };
}

const UNREAD: PatchRead = { lines: [], left: { before: 0, after: 0 }, next: { before: 0, after: 0 } };

/** The lines of a file's unified diff, from its first hunk on. */
export const patchLines = (patch: string): readonly PatchLine[] => readPatch(patch).lines;

/** Reads the next part of a file's unified diff. @param cut the lengths of lines that are cut, by their places in the part */
export function readPatch(
  part: string,
  before: PatchRead = UNREAD,
  cut: ReadonlyMap<number, number> = new Map(),
): PatchRead {
  const lines = [...before.lines];
  let [left, next] = [{ ...before.left }, { ...before.next }];
  for (const [at, line] of part.replace(/\n$/, '').split('\n').entries()) {
    const hunk = left.before <= 0 && left.after <= 0 ? HUNK.exec(line) : null;
    const bytes = cut.get(at);
    const isCut = bytes !== undefined && { bytes };
    if (hunk !== null) {
      next = { before: Number(hunk[1]), after: Number(hunk[3]) };
      left = { before: Number(hunk[2] ?? 1), after: Number(hunk[4] ?? 1) };
      // A change at the start of the file leaves nothing out before it.
      if (lines.length > 0 || next.before > 1)
        lines.push({ kind: 'gap', text: hunk[5] ?? '', before: null, after: null, ...isCut });
    } else if (line.startsWith('\\') && lines.length > 0) {
      lines.push({ kind: 'remark', text: line.slice(2), before: null, after: null });
    } else if (left.before > 0 || left.after > 0) {
      const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
      const number = { before: kind === 'added' ? null : next.before, after: kind === 'removed' ? null : next.after };
      if (number.before !== null) [next.before, left.before] = [next.before + 1, left.before - 1];
      if (number.after !== null) [next.after, left.after] = [next.after + 1, left.after - 1];
      lines.push({ kind, text: line.slice(1), ...number, ...isCut });
    }
  }
  return { lines, left, next };
}

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

/** A part of a line with the class of its colour, and whether it is what changed within the line. */
export interface Piece {
  text: string;
  className: string;
  isChanged: boolean;
}

type Token = Omit<Piece, 'isChanged'>;
type Highlight = (text: string) => HighlightTree | null;

/** As many lines are coloured together: enough for comments and texts of several lines, and done within a frame. */
const CHUNK = 100;
/** A longer line, as of a minified file, is shown without colours and words, and so are lines that are longer together. */
const MAX_LENGTH = 2_000;
const MAX_CHUNK_LENGTH = 20_000;
/** A line with more changes than these is another line altogether. */
const MAX_EDITS = 200;

/** Returns a function that gives the coloured parts of a line of a patch. It colours what is asked for, and remembers it. */
export function createLineColours(lines: readonly PatchLine[], highlight: Highlight | null): (at: number) => Token[] {
  const chunks = new Map<number, readonly (readonly Token[])[]>();
  return (at) => {
    const text = lines[at]?.text ?? '';
    if (highlight === null || text.length > MAX_LENGTH) return [{ text, className: '' }];
    const first = Math.floor(at / CHUNK) * CHUNK;
    const chunk = chunks.get(first) ?? coloured(lines.slice(first, first + CHUNK), highlight);
    chunks.set(first, chunk);
    return [...(chunk[at - first] ?? [{ text, className: '' }])];
  };
}

/** Colours the text before and the text after, each as a whole; an unchanged line has the colours of the latter. */
function coloured(lines: readonly PatchLine[], highlight: Highlight): readonly (readonly Token[])[] {
  const found: Token[][] = lines.map(({ text }) => [{ text, className: '' }]);
  for (const side of ['added', 'removed'] as const) {
    const places = lines.flatMap(({ kind, text }, at) =>
      (kind === side || kind === 'same') && text.length <= MAX_LENGTH ? at : [],
    );
    const text = places.map((at) => lines[at]?.text).join('\n');
    const tree = text.length > MAX_CHUNK_LENGTH ? null : highlight(text);
    if (tree === null) continue;
    for (const [n, tokens] of tokenLines(tree).entries()) {
      const at = places[n];
      if (at !== undefined && (lines[at]?.kind === side || side === 'added')) found[at] = tokens;
    }
  }
  return found;
}

type Node = HighlightTree['children'][number];

function tokenLines(tree: HighlightTree): Token[][] {
  const lines: Token[][] = [[]];
  const add = (nodes: readonly Node[], className: string) => {
    for (const node of nodes) {
      if (node.type === 'element') {
        const own = node.properties.className;
        add(node.children as Node[], Array.isArray(own) ? own.join(' ') : className);
      } else if (node.type === 'text') {
        for (const [n, text] of node.value.split('\n').entries()) {
          if (n > 0) lines.push([]);
          if (text !== '') lines.at(-1)?.push({ text, className });
        }
      }
    }
  };
  add(tree.children, '');
  return lines;
}

/** Where a line differs from the one that it replaces, or that replaces it: pairs of start and end. */
export function changedRanges(own: string, other: string): [number, number][] {
  if (own.length > MAX_LENGTH || other.length > MAX_LENGTH) return [];
  const ranges: [number, number][] = [];
  let at = 0;
  for (const { value, added, removed } of diffWordsWithSpace(other, own, { maxEditLength: MAX_EDITS }) ?? []) {
    if (removed) continue;
    if (added) ranges.push([at, at + value.length]);
    at += value.length;
  }
  const changed = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  return changed > own.trim().length * 0.7 ? [] : ranges; // another line altogether
}

/** Cuts the parts where what changed begins and ends. */
export function withChanges(tokens: readonly Token[], ranges: readonly (readonly [number, number])[]): Piece[] {
  const borders = [...new Set(ranges.flat())];
  let start = 0;
  return tokens.flatMap(({ text, className }) => {
    const from = start;
    start += text.length;
    const cuts = [
      0,
      ...borders.map((border) => border - from).filter((cut) => cut > 0 && cut < text.length),
      text.length,
    ];
    return cuts.slice(0, -1).flatMap((cut, n) => {
      const part = text.slice(cut, cuts[n + 1]);
      const isChanged = ranges.some(([first, end]) => from + cut >= first && from + cut < end);
      return part === '' ? [] : { text: part, className, isChanged };
    });
  });
}
