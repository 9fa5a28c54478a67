import { ActionIcon, Button, Loader } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { placeIn, useSessionUi } from '../model/session-ui.ts';
import css from './transcript.module.css';
import { NEAR_END, useFollowEnd } from './use-follow-end.ts';

export interface Row {
  /** Stays with what it names when rows are added before or after it. */
  key: string;
  /** In the page even when it cannot be seen: somebody may be writing in it. */
  isKept: boolean;
  content: ReactNode;
}

interface VirtualRowsProps {
  rows: readonly Row[];
  /** What comes before the first row and is not loaded. */
  earlier: { left: number; isLoading: boolean; failed: boolean; load: () => void; loadAll: () => void };
  label: string;
  /** Under which name the place in it is kept, for whoever comes back. */
  keepAs: string;
}

/** What comes before has its line above the first row. */
const ROOM_FOR_EARLIER = 48;
/** So many rows before the first one the next page is fetched. */
const NEAR_START = 8;

/**
 * Rows of any number and height, of which only those in sight exist. Opens at its end, or at the form that waits there,
 * and stays there while it grows; whoever has scrolled up keeps their place, whatever is added before or after it.
 */
export function VirtualRows({ rows, earlier, label, keepAs }: VirtualRowsProps) {
  const box = useRef<HTMLElement>(null);
  const [kept] = useState(() => placeIn(keepAs, rows[0]?.key));
  const [isFollowing, setFollowing] = useState(kept === null);
  const always = rows.flatMap((row, index) => (row.isKept ? [index] : []));
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 44,
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    rangeExtractor: (range: Range) => [...new Set([...defaultRangeExtractor(range), ...always])].sort((a, b) => a - b),
    overscan: 6,
    gap: 12,
    paddingStart: earlier.left > 0 ? ROOM_FOR_EARLIER : 16,
    paddingEnd: 16,
    anchorTo: 'end',
    scrollEndThreshold: isFollowing ? NEAR_END : -1,
    ...(kept !== null && { initialOffset: kept.offset, initialMeasurementsCache: kept.heights }),
  });
  const { range } = virtualizer;
  const unseen = always.find((index) => range !== null && (index < range.startIndex || index > range.endIndex));
  const { letGo } = useFollowEnd(box, {
    isFollowing,
    setFollowing,
    hasRows: rows.length > 0,
    size: virtualizer.getTotalSize(),
    scrollToEnd: () => virtualizer.scrollToEnd(),
    scrollToOffset: (offset) => virtualizer.scrollToOffset(offset),
  });
  const toEnd = () => {
    letGo();
    virtualizer.scrollToEnd();
  };
  useLoadEarlier(box, range?.startIndex ?? null, earlier);
  const toStart = useToStart(earlier, () => {
    letGo();
    setFollowing(false);
    virtualizer.scrollToOffset(0);
  });
  const leave = useEffectEvent(() => {
    const firstKey = rows[0]?.key;
    const isKept = firstKey !== undefined && !isFollowing;
    const place = {
      firstKey: firstKey ?? '',
      offset: virtualizer.scrollOffset ?? 0,
      heights: virtualizer.takeSnapshot(),
    };
    useSessionUi.getState().keepPlace(keepAs, isKept ? place : null);
  });
  useLayoutEffect(() => () => leave(), []);

  return (
    <div className={css.frame}>
      <section
        className={css.scroll}
        ref={box}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
          if (event.key === 'Home') toStart();
          else if (event.key === 'End') toEnd();
          else return;
          event.preventDefault();
        }}
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
      <div className={css.jump}>
        {unseen !== undefined && (
          <Button
            variant="default"
            size="compact-md"
            className={css.needs}
            onClick={() => {
              letGo();
              virtualizer.scrollToIndex(unseen, { align: 'start' });
            }}
          >
            Show what waits for you
          </Button>
        )}
        {range !== null && !virtualizer.isAtEnd(NEAR_END) && (
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
        {range !== null && !virtualizer.isAtEnd(NEAR_END) && (
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
    </div>
  );
}

/** Goes to the very first row, once all that comes before is there. */
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

/** Fetches the page before once the first rows come near; the first time after somebody has scrolled, or there is room. */
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
