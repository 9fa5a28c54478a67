import { ActionIcon, Button, Loader } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { type Place, placeIn, useSessionUi } from '../model/session-ui.ts';
import css from './transcript.module.css';
import { NEAR_END, useFollowEnd } from './use-follow-end.ts';

/** A row of the list. */
export interface Row {
  /** Stays with what it names when rows are added before or after it. */
  key: string;
  /** Keeps the row in the page while it is out of sight: somebody may be writing in it. */
  isKept: boolean;
  content: ReactNode;
}

interface VirtualRowsProps {
  rows: readonly Row[];
  /** The entries before the first row that are not loaded. */
  earlier: { left: number; isLoading: boolean; failed: boolean; load: () => void; loadAll: () => void };
  label: string;
  /** The name under which the reader's place is kept for their return. */
  keepAs: string;
}

/** The room above the first row for the line that loads earlier entries. */
const ROOM_FOR_EARLIER = 48;
/** The next page is fetched this many rows before the first one. */
const NEAR_START = 8;

/**
 * Rows of any number and height, of which only those in sight exist. It opens at its end, or at the form that waits there,
 * and stays there as it grows. A reader who has scrolled up keeps their place, whatever is added before or after it.
 */
export function VirtualRows({ rows, earlier, label, keepAs }: VirtualRowsProps) {
  const box = useRef<HTMLElement>(null);
  const { virtualizer, jumps } = useRowScrolling(box, { rows, earlier, keepAs });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Home') jumps.toStart();
    else if (event.key === 'End') jumps.toEnd();
    else return;
    event.preventDefault();
  };
  return (
    <div className={css.frame}>
      <section
        className={css.scroll}
        ref={box}
        aria-label={label}
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
              className={css.virtualRow}
              style={{ transform: `translateY(${start}px)` }}
            >
              {rows[index]?.content}
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
  { rows, earlier, keepAs }: Omit<VirtualRowsProps, 'label'>,
) {
  const [place] = useState(() => placeIn(keepAs, rows[0]?.key));
  const [isFollowing, setFollowing] = useState(place === null);
  const kept = rows.flatMap((row, index) => (row.isKept ? [index] : []));
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 44,
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    rangeExtractor: (range: Range) => [...new Set([...defaultRangeExtractor(range), ...kept])].sort((a, b) => a - b),
    overscan: 6,
    gap: 12,
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
    hasRows: rows.length > 0,
    size: virtualizer.getTotalSize(),
    scrollToEnd: () => virtualizer.scrollToEnd(),
    scrollToOffset: (offset) => virtualizer.scrollToOffset(offset),
  });
  useLoadEarlier(box, range?.startIndex ?? null, earlier);
  const toStart = useToStart(earlier, () => {
    letGo();
    setFollowing(false);
    virtualizer.scrollToOffset(0);
  });
  useKeepPlace(keepAs, rows[0]?.key, () =>
    isFollowing ? null : { offset: virtualizer.scrollOffset ?? 0, heights: virtualizer.takeSnapshot() },
  );
  const unseen = kept.find((index) => range !== null && (index < range.startIndex || index > range.endIndex));
  const jumpTo = (scroll: () => void) => () => {
    letGo();
    scroll();
  };
  const jumps: Jumps = {
    isAwayFromEnd: range !== null && !virtualizer.isAtEnd(NEAR_END),
    toStart,
    toEnd: jumpTo(() => virtualizer.scrollToEnd()),
    toUnseen: unseen === undefined ? null : jumpTo(() => virtualizer.scrollToIndex(unseen, { align: 'start' })),
  };
  return { virtualizer, jumps };
}

/** Remembers the reader's place when the list is left; `read` returns null at the end, where every list opens. */
function useKeepPlace(keepAs: string, firstKey: string | undefined, read: () => Omit<Place, 'firstKey'> | null): void {
  const leave = useEffectEvent(() => {
    const place = read();
    const isKept = firstKey !== undefined && place !== null;
    useSessionUi.getState().keepPlace(keepAs, isKept ? { firstKey, ...place } : null);
  });
  useLayoutEffect(() => () => leave(), []);
}

interface Jumps {
  isAwayFromEnd: boolean;
  toStart: () => void;
  toEnd: () => void;
  /** To the first row out of sight that waits for a person; null if there is none. */
  toUnseen: (() => void) | null;
}

function JumpButtons({ isAwayFromEnd, toStart, toEnd, toUnseen }: Jumps) {
  return (
    <div className={css.jump}>
      {toUnseen !== null && (
        <Button variant="default" size="compact-md" className={css.needs} onClick={toUnseen}>
          Show what waits for you
        </Button>
      )}
      {isAwayFromEnd && (
        <ActionIcon
          variant="default"
          size={32}
          aria-label="Jump to start"
          title="Jump to start (Home)"
          onClick={toStart}
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
          onClick={toEnd}
        >
          Jump to end
        </Button>
      )}
    </div>
  );
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

function Earlier({ left, isLoading, load }: VirtualRowsProps['earlier']) {
  if (left === 0) return null;
  return (
    <div className={css.earlier}>
      {isLoading ? (
        <Loader size="xs" color="gray" aria-label="Reading earlier entries" />
      ) : (
        <Button variant="subtle" size="compact-sm" onClick={load}>
          Show earlier ({left.toLocaleString()} more)
        </Button>
      )}
    </div>
  );
}
