import { ActionIcon, Button, Flex, Loader } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import {
  defaultRangeExtractor,
  type Range as RowRange,
  useVirtualizer,
  type Virtualizer,
} from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  memo,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { type Location, positionIn, useSessionUi } from '../../lib/session-ui.ts';
import { NeedsButton } from '../../ui/primitives.tsx';
import css from './transcript.module.css';
import type { RowList, Target } from './transcript-items.ts';

interface VirtualRowsProps {
  rows: RowList;
  /** The entries before the first row that are not loaded. */
  earlier: { left: number; isLoading: boolean; failed: boolean; load: () => void; loadAll: () => void };
  label: string;
  /** The name under which the reader's place is kept for their return. */
  saveAs: string;
  /** Null if none is asked for. */
  target: Target | null;
  /** A text to mark where it is shown; null if there is none. */
  marked: string | null;
}

/** The room above the first row for the line that loads earlier entries. */
const ROOM_FOR_EARLIER = 48;
/** The next page is fetched this many rows before the first one. */
const NEAR_START = 8;

/**
 * Rows of any number and height, of which only those in sight exist. It opens at its end, or at the form that waits there,
 * and stays there as it grows. A reader who has scrolled up keeps their place, whatever is added before or after it.
 */
export function VirtualRows({ rows, earlier, label, saveAs, target, marked }: VirtualRowsProps) {
  const box = useRef<HTMLElement>(null);
  const { virtualizer, jumps, goTo, letGo } = useRowScrolling(box, { rows, earlier, saveAs });
  const hand = useRowInHand(box, { rows, virtualizer, goTo });
  useFocusOnOpen(box);
  useMarkedText(box, marked);
  const show = useEffectEvent((index: number) => {
    hand.take(index);
    goTo(index, 'center');
  });
  useLayoutEffect(() => {
    if (target !== null) show(target.index);
  }, [target]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Home') jumps.toStart();
    else if (event.key === 'End') jumps.toEnd();
    else if (!hand.onKey(event.key)) return;
    else letGo();
    event.preventDefault();
  };
  return (
    <div className={css.frame}>
      <section
        className={css.scroll}
        ref={box}
        aria-label={label}
        aria-keyshortcuts="J K Enter Home End"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div className={css.column} style={{ height: virtualizer.getTotalSize() }}>
          <Earlier {...earlier} />
          {virtualizer.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              data-in-hand={key === hand.key || undefined}
              className={css.virtualRow}
              style={{ transform: `translateY(${start}px)` }}
            >
              {index < rows.count && rows.render(index)}
            </div>
          ))}
        </div>
      </section>
      <JumpButtons {...jumps} />
    </div>
  );
}

/** Which rows exist, where the box is scrolled to, and how to jump to its start, its end and what waits for a person. */
function useRowScrolling(
  box: RefObject<HTMLElement | null>,
  { rows, earlier, saveAs }: Pick<VirtualRowsProps, 'rows' | 'earlier' | 'saveAs'>,
) {
  const firstKey = rows.count === 0 ? undefined : rows.keyAt(0);
  const [place] = useState(() => positionIn(saveAs, firstKey));
  const [isFollowing, setFollowing] = useState(place === null);
  const { kept } = rows;
  const virtualizer = useVirtualizer({
    count: rows.count,
    getScrollElement: () => box.current,
    estimateSize: () => 44,
    getItemKey: rows.keyAt,
    rangeExtractor: (range: RowRange) => [...new Set([...defaultRangeExtractor(range), ...kept])].sort((a, b) => a - b),
    overscan: 6,
    useFlushSync: false,
    gap: 0,
    paddingStart: earlier.left > 0 ? ROOM_FOR_EARLIER : 16,
    paddingEnd: 16,
    anchorTo: 'end',
    scrollEndThreshold: isFollowing ? NEAR_END : -1,
    ...(place !== null && { initialOffset: place.offset, initialMeasurementsCache: place.heights }),
  });
  const { range } = virtualizer;
  const { letGo } = useFollowEnd(box, {
    isFollowing,
    setFollowing,
    hasRows: rows.count > 0,
    hasForms: kept.length > 0,
    size: virtualizer.getTotalSize(),
    measured: () => virtualizer.getTotalSize(),
    scrollToEnd: () => virtualizer.scrollToEnd(),
    scrollToOffset: (offset) => virtualizer.scrollToOffset(offset),
  });
  useLoadEarlier(box, range?.startIndex ?? null, earlier);
  const toStart = useToStart(earlier, () => {
    letGo();
    setFollowing(false);
    virtualizer.scrollToOffset(0);
  });
  useSavePosition(saveAs, firstKey, () =>
    isFollowing ? null : { offset: virtualizer.scrollOffset ?? 0, heights: virtualizer.takeSnapshot() },
  );
  const unseen = kept.find((index) => range !== null && (index < range.startIndex || index > range.endIndex));
  const jumpTo = (scroll: () => void) => () => {
    letGo();
    scroll();
  };
  const jumps: Jumps = {
    isAsked: kept.some((index) => range !== null && index >= range.startIndex && index <= range.endIndex),
    isAwayFromEnd: range !== null && !virtualizer.isAtEnd(NEAR_END),
    toStart,
    toEnd: jumpTo(() => virtualizer.scrollToEnd()),
    toUnseen: unseen === undefined ? null : jumpTo(() => virtualizer.scrollToIndex(unseen, { align: 'start' })),
  };
  const goTo = (index: number, align: 'auto' | 'center') => {
    letGo();
    setFollowing(false);
    virtualizer.scrollToIndex(index, { align });
  };
  return { virtualizer, jumps, goTo, letGo };
}

/** Remembers the reader's place when the list is left; `read` returns null at the end, where every list opens. */
function useSavePosition(
  saveAs: string,
  firstKey: string | undefined,
  read: () => Omit<Location, 'firstKey'> | null,
): void {
  const leave = useEffectEvent(() => {
    const place = read();
    const isSaved = firstKey !== undefined && place !== null;
    useSessionUi.getState().savePosition(saveAs, isSaved ? { firstKey, ...place } : null);
  });
  useLayoutEffect(() => () => leave(), []);
}

/** Jumps to the very first row, once all earlier entries are loaded. */
function useToStart({ left, failed, loadAll }: VirtualRowsProps['earlier'], go: () => void): () => void {
  const [isWanted, setWanted] = useState(false);
  const arrive = useEffectEvent(go);
  useLayoutEffect(() => {
    if (!isWanted || (left > 0 && !failed)) return;
    setWanted(false);
    if (left === 0) arrive();
  }, [isWanted, left, failed]);
  return () => {
    setWanted(true);
    loadAll();
  };
}

/** Loads the page before when the first rows come near; at first only after a scroll, or if there is room for it. */
function useLoadEarlier(
  box: RefObject<HTMLElement | null>,
  firstIndex: number | null,
  { left, isLoading, failed, load }: VirtualRowsProps['earlier'],
): void {
  useEffect(() => {
    const element = box.current;
    if (element === null || firstIndex === null || left === 0 || isLoading || failed) return;
    const isFull = element.scrollHeight > element.clientHeight;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    if (firstIndex <= NEAR_START && (!isFull || !isAtEnd)) load();
  });
}

export interface Jumps {
  /** Whether a form that waits for an answer is in sight. */
  isAsked: boolean;
  isAwayFromEnd: boolean;
  toStart: () => void;
  toEnd: () => void;
  /** To the first row out of sight that waits for a person; null if there is none. */
  toUnseen: (() => void) | null;
}

/** Drawn anew only when another button appears or goes: the list around it is drawn at each scroll. */
function JumpButtons(jumps: Jumps) {
  const latest = useRef(jumps);
  useLayoutEffect(() => {
    latest.current = jumps;
  });
  const [to] = useState(() => ({
    start: () => latest.current.toStart(),
    end: () => latest.current.toEnd(),
    unseen: () => latest.current.toUnseen?.(),
  }));
  const { isAwayFromEnd, isAsked } = jumps;
  return <Buttons isAwayFromEnd={isAwayFromEnd} isAsked={isAsked} to={to} hasUnseen={jumps.toUnseen !== null} />;
}

interface ButtonsProps {
  isAwayFromEnd: boolean;
  isAsked: boolean;
  hasUnseen: boolean;
  to: { start: () => void; end: () => void; unseen: () => void };
}

const Buttons = memo(function Buttons({ isAwayFromEnd, isAsked, hasUnseen, to }: ButtonsProps) {
  return (
    <div className={css.jump} data-asked={isAsked || undefined}>
      {hasUnseen && (
        <NeedsButton size="compact-md" onClick={to.unseen}>
          Show what waits for you
        </NeedsButton>
      )}
      {isAwayFromEnd && (
        <ActionIcon
          variant="default"
          size={32}
          aria-label="Jump to start"
          title="Jump to start (Home)"
          onClick={to.start}
        >
          <IconArrowUp size={16} />
        </ActionIcon>
      )}
      {isAwayFromEnd && (
        <Button
          title="Jump to end (End)"
          variant="default"
          size="compact-md"
          leftSection={<IconArrowDown size={16} />}
          onClick={to.end}
        >
          Jump to end
        </Button>
      )}
    </div>
  );
});

interface EarlierProps {
  /** The entries before the first row that are not loaded. */
  left: number;
  isLoading: boolean;
  load: () => void;
}

/** The line above the first row, for what was not loaded yet. */
function Earlier({ left, isLoading, load }: EarlierProps) {
  if (left === 0) return null;
  return (
    <Flex pos="absolute" top={0} w="100%" h={48} align="center" justify="center">
      {isLoading ? (
        <Loader size="xs" color="gray" role="img" aria-label="Reading earlier entries" />
      ) : (
        <Button variant="subtle" size="compact-sm" onClick={load}>
          Show earlier ({left.toLocaleString()} more)
        </Button>
      )}
    </Flex>
  );
}

/** The attribute that marks a request's form in the list; its value is the request's id. */
export const ASKS = 'data-asks';

/** This close to the end counts as at the end. */
const NEAR_END = 48;
/** The space between the list's upper edge and the form shown there. */
const ABOVE_FORM = 12;
/** Forms at most this far apart (the lines of their calls) are shown from the first one on. */
const BETWEEN_FORMS = 96;

interface FollowOptions {
  /** Whether it stays at its end as it grows. */
  isFollowing: boolean;
  setFollowing: (isFollowing: boolean) => void;
  hasRows: boolean;
  /** Whether a request's form may be in the list. */
  hasForms: boolean;
  /** The height of all rows. */
  size: number;
  /** The height of all rows as they were measured last: the box gets it with the next drawing. */
  measured: () => number;
  scrollToEnd: () => void;
  scrollToOffset: (offset: number) => void;
}

/**
 * Keeps the box at its end as it grows, until somebody scrolls up, and again once they are back at the end. A form that
 * waits there and does not fit is shown from its top, until there is activity in the box. What a person opens grows
 * downwards and moves nothing.
 */
export function useFollowEnd(box: RefObject<HTMLElement | null>, options: FollowOptions): { letGo: () => void } {
  const { isFollowing, setFollowing, hasRows, hasForms, size } = options;
  /** The form that is shown from its top. */
  const held = useRef<string | null>(null);
  const seen = useRef(new Set<string>());

  const follow = useEffectEvent(() => {
    const element = box.current;
    if (!isFollowing || !hasRows || element === null) return;
    const form = hasForms ? formToPause(element, held.current, seen.current) : null;
    held.current = form?.requestId ?? null;
    if (form === null) options.scrollToEnd();
    else options.scrollToOffset(form.top);
  });

  const isAtEnd = useEffectEvent((element: HTMLElement) => isNearEnd(element, options.measured()));

  const letGo = () => {
    if (held.current === null || box.current === null) return;
    held.current = null;
    for (const { requestId } of formsIn(box.current)) seen.current.add(requestId);
    setFollowing(isNearEnd(box.current));
  };
  const touched = useEffectEvent(letGo);

  const opened = useEffectEvent((event: Event) => {
    const element = box.current;
    if (element === null || !(event.target instanceof Element) || !event.target.closest('[aria-expanded]')) return;
    setFollowing(false);
    // After layout: a list that is still at its end keeps following it.
    requestAnimationFrame(() => requestAnimationFrame(() => isNearEnd(element) && setFollowing(true)));
  });

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let top = element.scrollTop;
    const onScroll = (event: Event) => {
      if (event.target !== element) return; // code that scrolls in its own box
      // A row that shrank moves the list up at once, and the box is drawn smaller later: nobody scrolled away from the end.
      const isNear = isAtEnd(element);
      // Growth below the reader is no scroll of theirs, and neither is the jump to the top of a form.
      if (held.current === null && (isNear || element.scrollTop < top)) setFollowing(isNear);
      top = element.scrollTop;
    };
    const observer = new ResizeObserver(() => follow());
    const touch = (event: Event) => {
      // The page focuses the box itself when it opens.
      if (event.type !== 'focusin' || event.target !== element) touched();
    };
    const open = (event: Event) => opened(event);
    observer.observe(element);
    // Before the list draws for the new place: reading the place afterwards would lay the page out twice.
    element.addEventListener('scroll', onScroll, { passive: true, capture: true });
    element.addEventListener('click', open, { capture: true });
    for (const type of TOUCHES) element.addEventListener(type, touch, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll, { capture: true });
      element.removeEventListener('click', open, { capture: true });
      for (const type of TOUCHES) element.removeEventListener(type, touch);
    };
  }, [box, setFollowing]);
  // Not whenever it begins to follow: that comes from a person near the end, whose view only growth may move.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the size changes
  useLayoutEffect(() => follow(), [hasRows, size]);
  return { letGo };
}

/** The events by which a person shows activity in the box. */
const TOUCHES = ['wheel', 'touchstart', 'pointerdown', 'keydown', 'focusin'] as const;

const isNearEnd = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement, measured = scrollHeight) =>
  Math.min(scrollHeight, measured) - scrollTop - clientHeight < NEAR_END;

interface Form {
  requestId: string;
  /** The scroll offset at which the form begins at the box's upper edge. */
  top: number;
  bottom: number;
}

function formsIn(element: HTMLElement): Form[] {
  const above = element.getBoundingClientRect().top - element.scrollTop;
  return [...element.querySelectorAll(`[${ASKS}]`)].map((form) => {
    const { top, bottom } = form.getBoundingClientRect();
    return {
      requestId: form.getAttribute(ASKS) ?? '',
      top: Math.max(0, top - above - ABOVE_FORM),
      bottom: bottom - above,
    };
  });
}

/** The first of the forms at the end, if it begins above the visible part there. A form that is held stays. */
function formToPause(element: HTMLElement, held: string | null, seen: ReadonlySet<string>): Form | null {
  const end = element.scrollHeight - element.clientHeight;
  const unseen = formsIn(element).filter(({ requestId }) => !seen.has(requestId));
  const same = unseen.find(({ requestId }) => requestId === held);
  if (same !== undefined) return same;
  let first: Form | null = null;
  for (const form of unseen.reverse()) {
    const from = first?.top ?? end;
    if (form.top < from && form.bottom + BETWEEN_FORMS >= from) first = form;
  }
  return first;
}

const NAME = 'found';
/** More of them help nobody. */
const MAX = 500;

/** Marks each occurrence of a text that is in the page, without changing the page's elements. */
function useMarkedText(box: RefObject<HTMLElement | null>, text: string | null): void {
  useEffect(() => {
    const element = box.current;
    if (element === null || text === null || text === '' || !('highlights' in CSS)) return;
    let frame = 0;
    const mark = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(element, text.toLowerCase())));
    };
    const markSoon = () => {
      frame ||= requestAnimationFrame(mark);
    };
    markSoon();
    const observer = new MutationObserver(markSoon);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [box, text]);
}

function rangesOf(element: HTMLElement, text: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < MAX; node = walker.nextNode()) {
    const content = node.nodeValue?.toLowerCase() ?? '';
    if (content.length !== node.nodeValue?.length) continue; // the offsets would not fit
    for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + text.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      ranges.push(range);
    }
  }
  return ranges;
}

interface HandOptions {
  rows: RowList;
  virtualizer: Virtualizer<HTMLElement, Element>;
  goTo: (index: number, align: 'auto' | 'center') => void;
}

/** The keys of buttons in a row: a button with `data-row-key` is pressed by it while its row is in hand. */
const ROW_KEYS: readonly string[] = ['r', 'f'];

/** The row that keys work on: j and k move it, Enter opens and folds what is in it. */
function useRowInHand(box: RefObject<HTMLElement | null>, { rows, virtualizer, goTo }: HandOptions) {
  const [held, setHeld] = useState<{ key: string; index: number } | null>(null);
  const current = held === null ? null : indexOf(rows, held);

  const take = (index: number) => setHeld({ key: rows.keyAt(index), index });
  const move = (by: 1 | -1): void => {
    const from = current ?? middleRow(virtualizer) - by;
    const index = Math.max(0, Math.min(rows.count - 1, from + by));
    take(index);
    goTo(index, 'auto');
  };
  const inRow = (selector: string) =>
    box.current?.querySelector<HTMLButtonElement>(`[data-index="${current}"] button${selector}`);
  const toggle = (): void => inRow('[aria-expanded]')?.click();
  const press = (key: string): boolean => {
    const button = inRow(`[data-row-key="${key}"]`);
    button?.click();
    return button != null;
  };

  return {
    key: current === null ? null : (held?.key ?? null),
    take,
    /** Whether the key did something. */
    onKey(key: string): boolean {
      if (rows.count === 0) return false;
      if (key === 'j') move(1);
      else if (key === 'k') move(-1);
      else if (key === 'Enter' && current !== null) toggle();
      else if (current !== null && ROW_KEYS.includes(key)) return press(key);
      else return false;
      return true;
    },
  };
}

/** Where the row is now; rows may have been added before it. */
function indexOf(rows: RowList, { key, index }: { key: string; index: number }): number | null {
  if (index < rows.count && rows.keyAt(index) === key) return index;
  for (let at = rows.count - 1; at >= 0; at -= 1) if (rows.keyAt(at) === key) return at;
  return null;
}

/** The last row that is in sight in whole or in part: where the eye is after reading. */
const middleRow = ({ range }: Virtualizer<HTMLElement, Element>): number => range?.endIndex ?? 0;

/** Gives the box the focus when it opens, unless somebody has it already: its keys work at once. */
function useFocusOnOpen(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const { activeElement } = document;
    const isFree = activeElement === null || activeElement === document.body || activeElement.id === 'main';
    if (isFree) box.current?.focus({ preventScroll: true });
  }, [box]);
}
