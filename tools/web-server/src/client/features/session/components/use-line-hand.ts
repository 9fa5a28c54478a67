import { CommentId, type DiffSide, type StageId } from '@callboard/contract';
import { type KeyboardEvent, type MouseEvent, type PointerEvent, useEffect, useEffectEvent, useRef } from 'react';
import { isTextField, useLetterKeys } from '../../../ui/shortcuts.ts';
import { type LineOfRow, type LineRows, lineOfRow, nextHand, pickLine, rangeTo } from '../model/line-hand.ts';
import { linesBetween, type PickedLines, useReviewUi } from '../model/review-ui.ts';

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
