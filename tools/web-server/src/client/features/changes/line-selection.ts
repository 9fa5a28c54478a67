import { CommentId, DiffSide, type FileDiff, type StageId } from '@callboard/contract';
import { type KeyboardEvent, type MouseEvent, type PointerEvent, useEffect, useEffectEvent, useRef } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import { unsentOnDevice } from '../../lib/browser-storage.ts';
import { isTextField, useLetterKeys } from '../../ui/shortcuts.tsx';
import { type ChangeRow, type Loaded, numberOn } from './change-rows.ts';

/** Gives the focus back to the list of changes, where its keys work. */
export const focusChanges = (): void =>
  document.querySelector<HTMLElement>('section[aria-label="Changed files"]')?.focus({ preventScroll: true });

interface LineHandOptions extends LineRows {
  stageId: StageId;
  /** The first row in sight. */
  first: number;
  scrollTo: (row: number) => void;
  /** Goes to a comment after or before the one that keys went to last. */
  goToNext: (by: 1 | -1) => void;
  /** Keeps what is being written elsewhere. */
  finish: () => Promise<void>;
}

/** Picks the lines of a comment: with the pointer on their numbers, or with the arrow keys. */
export function useLineHand(deps: LineHandOptions) {
  const { stageId, finish } = deps;
  async function begin(lines: PickedLines): Promise<void> {
    await finish(); // what is being written is kept
    const { take, write } = useReviewUi.getState();
    take(stageId, lines);
    write(stageId, { ...lines, id: CommentId.parse(crypto.randomUUID()), text: '', original: null, isAsked: false });
  }
  const open = (lines: PickedLines) => void begin(lines).catch(() => undefined);
  return { ...usePointer(deps, open), ...keysOf(deps, open) };
}

const isNumber = (target: EventTarget | null) => target instanceof Element && target.closest('[data-number]') !== null;

/** The line at a place on the page. */
function lineAt(parts: LineRows, target: EventTarget | null): { line: LineOfRow; side: DiffSide } | null {
  const element = target instanceof Element ? target : null;
  const index = element?.closest('[data-index]')?.getAttribute('data-index') ?? null;
  const line = index === null ? null : lineOfRow(parts, Number(index));
  if (line === null) return null;
  const isOld = element?.closest('[data-side]')?.getAttribute('data-side') === 'old';
  return { line, side: isOld ? 'old' : 'new' };
}

/** A press on a number comments the line; with Shift, or drawn over several, a range. */
function usePointer(deps: LineHandOptions, open: (lines: PickedLines) => void) {
  const { stageId } = deps;
  const drawn = useRef<PickedLines | null>(null);
  const drop = useEffectEvent(() => {
    const from = drawn.current;
    drawn.current = null;
    const hand = useReviewUi.getState().hand[stageId];
    if (from !== null && hand !== undefined && hand.path === from.path && hand.line < hand.endLine) open(hand);
  });
  useEffect(() => {
    const listener = () => drop();
    window.addEventListener('pointerup', listener);
    return () => window.removeEventListener('pointerup', listener);
  }, []);
  return {
    onClick({ target, shiftKey }: MouseEvent): void {
      const found = isNumber(target) ? lineAt(deps, target) : null;
      if (found === null) return;
      const picked = pickLine(found.line, found.side);
      open(shiftKey ? rangeTo(useReviewUi.getState().hand[stageId], picked) : picked);
    },
    onPointerDown({ target, pointerType, button, shiftKey }: PointerEvent): void {
      if (!isNumber(target) || pointerType !== 'mouse' || button !== 0 || shiftKey) return;
      const found = lineAt(deps, target);
      drawn.current = found === null ? null : pickLine(found.line, found.side);
    },
    onPointerMove({ target }: PointerEvent): void {
      const from = drawn.current;
      const line = from === null ? undefined : lineAt(deps, target)?.line;
      const number = from !== null && line?.path === from.path ? line[from.side] : null;
      if (from !== null && number !== null) useReviewUi.getState().take(stageId, linesBetween(from, number));
    },
  };
}

/** The keys of the list: arrows take lines in hand, C and Enter comment them, N and P go from comment to comment. */
function keysOf(deps: LineHandOptions, open: (lines: PickedLines) => void) {
  const { stageId, first } = deps;

  /** With the focus on the list itself. @returns whether the key did something */
  function onListKey(key: string, extend: boolean): boolean {
    const { take, hand: all } = useReviewUi.getState();
    const hand = all[stageId];
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      const next = nextHand(deps, { hand, first, by: key === 'ArrowDown' ? 1 : -1, extend });
      if (next === null) return true;
      take(stageId, next.hand);
      deps.scrollTo(next.row);
      return true;
    }
    if (hand === undefined || (key !== 'Escape' && key !== 'Enter')) return false;
    if (key === 'Escape') take(stageId, null);
    else open(hand);
    return true;
  }

  function onLetter(key: string): boolean {
    if (!useLetterKeys.getState().on) return false;
    const hand = useReviewUi.getState().hand[stageId];
    if (key === 'n' || key === 'p') deps.goToNext(key === 'n' ? 1 : -1);
    // While another stage's request calls, the key shows that, as its card says.
    else if (key !== 'c' || hand === undefined || document.querySelector('[aria-keyshortcuts="c"]') !== null)
      return false;
    else open(hand);
    return true;
  }

  return {
    onKeyDown(event: KeyboardEvent): void {
      const { key, shiftKey, target, currentTarget } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || isTextField(target)) return;
      if ((target === currentTarget && onListKey(key, shiftKey)) || onLetter(key)) event.preventDefault();
    },
  };
}

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

/** Lines of a file, on one side of its change. */
export interface PickedLines {
  path: string;
  side: DiffSide;
  line: number;
  endLine: number;
}

const WrittenComment = z.object({
  id: CommentId,
  path: z.string(),
  side: DiffSide,
  line: z.number(),
  endLine: z.number(),
  text: z.string(),
  /** Its text before; null for a new comment. */
  original: z.string().nullable(),
  /** The person was about to leave it with text in it. */
  isAsked: z.boolean(),
});

/** A comment that is being written in this tab. */
export type Writing = z.infer<typeof WrittenComment>;

const onDevice = unsentOnDevice('comment', WrittenComment);

interface ReviewUi {
  /** By stage. */
  writing: Readonly<Record<string, Writing>>;
  /** The stages of which an earlier page has left one in this browser, until it is known whether the server has it. */
  left: ReadonlySet<string>;
  /** The lines that keys work on, or that the pointer picks. */
  hand: Readonly<Record<string, PickedLines>>;
  /** Files that are shown whole, by stage and path. */
  whole: Readonly<Record<string, boolean>>;
  /** Drawings (SVG) that are shown as text, by stage and path. */
  asText: Readonly<Record<string, boolean>>;
  /** Which of the changes are shown: all of them if missing. */
  range: Readonly<Record<string, string>>;
  write(stageId: string, writing: Writing | null): void;
  setText(stageId: string, text: string): void;
  /** The server has it: from now on it is a draft that is there, and this browser forgets it. */
  stored(stageId: string, writing: Writing): void;
  /** What an earlier page has left is closed if the server has it, else written on. */
  join(stageId: string, stored: string | null): void;
  ask(stageId: string, isAsked: boolean): void;
  take(stageId: string, lines: PickedLines | null): void;
  showWhole(stageId: string, path: string, isWhole: boolean): void;
  showText(stageId: string, path: string, isText: boolean): void;
  setRange(stageId: string, range: string): void;
}

const without = <T>(all: Readonly<Record<string, T>>, key: string): Record<string, T> => {
  const { [key]: _, ...others } = all;
  return others;
};

/** What only this tab knows of the reviews of stages. */
export const useReviewUi = create<ReviewUi>((set, get) => ({
  writing: onDevice.all(),
  left: new Set(Object.keys(onDevice.all())),
  hand: {},
  whole: {},
  asText: {},
  range: {},
  write(stageId, writing) {
    const before = get().writing[stageId];
    if (writing !== null) onDevice.save(stageId, writing);
    else if (before !== undefined) onDevice.forget(stageId, before);
    set((all) => ({
      writing: writing === null ? without(all.writing, stageId) : { ...all.writing, [stageId]: writing },
    }));
  },
  setText(stageId, text) {
    const own = get().writing[stageId];
    if (own !== undefined) get().write(stageId, { ...own, text, isAsked: false });
  },
  stored: onDevice.forget,
  join(stageId, stored) {
    if (get().writing[stageId]?.text === stored) get().write(stageId, null);
    set(({ left }) => ({ left: new Set([...left].filter((one) => one !== stageId)) }));
  },
  ask(stageId, isAsked) {
    const own = get().writing[stageId];
    if (own !== undefined) get().write(stageId, { ...own, isAsked });
  },
  take: (stageId, lines) =>
    set(({ hand }) => ({ hand: lines === null ? without(hand, stageId) : { ...hand, [stageId]: lines } })),
  showWhole: (stageId, path, isWhole) =>
    set(({ whole }) => ({ whole: { ...whole, [fileKey(stageId, path)]: isWhole } })),
  showText: (stageId, path, isText) =>
    set(({ asText }) => ({ asText: { ...asText, [fileKey(stageId, path)]: isText } })),
  setRange: (stageId, range) => set((all) => ({ range: { ...all.range, [stageId]: range } })),
}));

export const fileKey = (stageId: string, path: string): string => `${stageId}\0${path}`;

/** The lines between two, in the order of the file; those of the first one's side. */
function linesBetween(from: PickedLines, line: number): PickedLines {
  return { ...from, line: Math.min(from.line, line), endLine: Math.max(from.line, line) };
}
