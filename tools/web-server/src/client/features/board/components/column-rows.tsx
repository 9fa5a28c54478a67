import type { Column, StageId } from '@callboard/contract';
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { ROW } from '../api/use-row-drag.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { useLifted } from '../model/lifted.ts';
import css from './board.module.css';
import { type RowSlots, StageRow } from './stage-row.tsx';

/** A longer column draws only the rows on the screen and a few around them. */
export const MAX_DRAWN = 60;
/** Two lines, and the hairline. */
const ROW_HEIGHT = 49;
const OVERSCAN = 4;

/** The id of the element that explains how a row is moved by keyboard. */
export const DRAG_HELP = 'drag-help';

export interface ColumnRowsProps extends Pick<RowSlots, 'RequestSlot'> {
  column: Column;
  stageIds: readonly StageId[];
  /** Whether rows stay where they are. */
  isFixed: boolean;
  /** Whether nothing can be commanded now. */
  isOff: boolean;
}

/** The rows of a column that draws all of them. */
export function AllRows({ column, stageIds, isFixed, isOff, RequestSlot }: ColumnRowsProps) {
  const list = useList(column);
  return (
    <ul className={css.rows} {...list}>
      {stageIds.map((stageId) => (
        <Row key={stageId} stageId={stageId} isFixed={isFixed} isOff={isOff} RequestSlot={RequestSlot} />
      ))}
    </ul>
  );
}

/** The rows of a long column. */
export function VirtualRows({ column, stageIds, isFixed, isOff, RequestSlot }: ColumnRowsProps) {
  const list = useList(column);
  const wanted = useBoardUi((ui) => ui.wanted);
  const { height, measureElement } = useMeasuring();
  const virtualizer = useVirtualizer({
    count: stageIds.length,
    getScrollElement: () => list.ref.current,
    estimateSize: () => height.current,
    getItemKey: (index) => stageIds[index] ?? index,
    overscan: OVERSCAN,
    initialOffset: () => savedScroll(column),
    measureElement,
    useFlushSync: false,
  });
  useEffect(() => {
    const index = wanted === null ? -1 : stageIds.indexOf(wanted);
    if (index !== -1) virtualizer.scrollToIndex(index);
  }, [wanted, stageIds, virtualizer]);
  return (
    <ul className={css.rows} data-virtual="true" {...list}>
      <li aria-hidden className={css.room} style={{ height: virtualizer.getTotalSize() }} />
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const stageId = stageIds[index];
        if (stageId === undefined) return null;
        const props = { stageId, index, isFixed, isOff, RequestSlot, top: start, measure: virtualizer.measureElement };
        return <Row key={stageId} {...props} />;
      })}
    </ul>
  );
}

/**
 * How high rows are. A row that appears is taken to be as high as the last one that was measured, and measured by the browser
 * itself once it has laid it out: to ask for its height would lay out the page once more.
 */
function useMeasuring() {
  const height = useRef(ROW_HEIGHT);
  const measureElement = useCallback(
    (
      element: Element,
      entry: ResizeObserverEntry | undefined,
      { itemSizeCache, indexFromElement, options }: Measuring,
    ) => {
      const [box] = entry?.borderBoxSize ?? [];
      if (box === undefined) return itemSizeCache.get(options.getItemKey(indexFromElement(element))) ?? height.current;
      height.current = Math.round(box.blockSize);
      return height.current;
    },
    [],
  );
  return { height, measureElement };
}

type Measuring = Virtualizer<HTMLUListElement, Element>;

interface RowProps extends Pick<ColumnRowsProps, 'RequestSlot' | 'isFixed' | 'isOff'> {
  stageId: StageId;
  /** Its place, in a column that does not draw all rows. */
  index?: number;
  top?: number;
  measure?: (element: HTMLElement | null) => void;
}

/** A row in its place. */
export const Row = memo(function Row({ stageId, index, isFixed, isOff, RequestSlot, top, measure }: RowProps) {
  const isLifted = useLifted(({ lifted }) => lifted?.stageId === stageId);
  return (
    <li
      ref={measure}
      data-index={index}
      {...(isFixed ? {} : { draggable: true, [ROW]: stageId })}
      style={top === undefined ? undefined : { position: 'absolute', top, left: 0, right: 0 }}
      data-dragging={isLifted}
    >
      <StageRow stageId={stageId} RequestSlot={RequestSlot} isOff={isOff} dragHelp={isFixed ? undefined : DRAG_HELP} />
    </li>
  );
});

const SCROLL_KEY = 'callboard-scroll-';
const savedScroll = (column: Column): number => Number(sessionStorage.getItem(SCROLL_KEY + column) ?? 0);

/** The list's element. Restores where it was scrolled to, after another page and after a reload. */
function useList(column: Column) {
  const ref = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const list = ref.current;
    const saved = savedScroll(column);
    if (list !== null && saved > 0) list.scrollTop = saved;
  }, [column]);
  const onScrollEnd = useCallback(
    ({ currentTarget }: { currentTarget: HTMLElement }) =>
      sessionStorage.setItem(SCROLL_KEY + column, String(Math.round(currentTarget.scrollTop))),
    [column],
  );
  return { ref, onScrollEnd };
}
