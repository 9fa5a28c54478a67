import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { RowList, Target } from '../model/row-list.ts';
import { type Location, positionIn, useSessionUi } from '../model/session-ui.ts';
import css from './transcript.module.css';
import { Earlier, JumpButtons, type Jumps } from './transcript-jumps.tsx';
import { NEAR_END, useFollowEnd } from './use-follow-end.ts';
import { useMarkedText } from './use-marked-text.ts';
import { useFocusOnOpen, useRowInHand } from './use-row-in-hand.ts';

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
    rangeExtractor: (range: Range) => [...new Set([...defaultRangeExtractor(range), ...kept])].sort((a, b) => a - b),
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
