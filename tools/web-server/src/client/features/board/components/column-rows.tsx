import type { Column, StageId } from '@callboard/contract';
import {
  Draggable,
  type DraggableProvided,
  type DraggableStateSnapshot,
  type DroppableProvided,
} from '@hello-pangea/dnd';
import { useReducedMotion } from '@mantine/hooks';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, memo, useCallback, useEffect, useRef } from 'react';
import { useBoardUi } from '../model/board-ui.ts';
import css from './board.module.css';
import { type RowSlots, StageRow } from './stage-row.tsx';

/** A longer column draws only the rows on the screen and a few around them. */
export const MOST_DRAWN = 60;
/** Two lines, and the hairline. */
const ROW_HEIGHT = 49;
const OVERSCAN = 6;

export interface ColumnRowsProps extends Pick<RowSlots, 'RequestSlot'> {
  column: Column;
  stageIds: readonly StageId[];
  /** Whether rows stay where they are. */
  isFixed: boolean;
  provided: DroppableProvided;
}

/** The rows of a column that draws all of them. */
export function AllRows({ column, stageIds, isFixed, provided, RequestSlot }: ColumnRowsProps) {
  const list = useList(column, provided);
  return (
    <ul className={css.rows} ref={list.attach} onScroll={list.onScroll} {...provided.droppableProps}>
      {stageIds.map((stageId, index) => (
        <Row key={stageId} {...{ stageId, index, isFixed, RequestSlot }} />
      ))}
      {provided.placeholder}
    </ul>
  );
}

/** The rows of a long column. */
export function VirtualRows({ column, stageIds, isFixed, provided, RequestSlot }: ColumnRowsProps) {
  const list = useList(column, provided);
  const wanted = useBoardUi((ui) => ui.wanted);
  const virtualizer = useVirtualizer({
    count: stageIds.length,
    getScrollElement: () => list.element.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => stageIds[index] ?? index,
    overscan: OVERSCAN,
    initialOffset: () => keptScroll(column),
  });
  useEffect(() => {
    const index = wanted === null ? -1 : stageIds.indexOf(wanted);
    if (index !== -1) virtualizer.scrollToIndex(index);
  }, [wanted, stageIds, virtualizer]);
  return (
    <ul
      className={css.rows}
      data-virtual="true"
      ref={list.attach}
      onScroll={list.onScroll}
      {...provided.droppableProps}
    >
      <li aria-hidden className={css.room} style={{ height: virtualizer.getTotalSize() }} />
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const stageId = stageIds[index];
        if (stageId === undefined) return null;
        const props = { stageId, index, isFixed, RequestSlot, top: start, measure: virtualizer.measureElement };
        return <Row key={stageId} {...props} />;
      })}
    </ul>
  );
}

interface RowProps extends Pick<ColumnRowsProps, 'RequestSlot' | 'isFixed'> {
  stageId: StageId;
  index: number;
  /** Where it stands in a column that does not draw all rows. */
  top?: number;
  measure?: (element: HTMLElement | null) => void;
}

const Row = memo(function Row({ stageId, index, isFixed, RequestSlot, top, measure }: RowProps) {
  return (
    <Draggable draggableId={stageId} index={index} isDragDisabled={isFixed}>
      {(drag, snapshot) => <RowItem {...{ stageId, RequestSlot, drag, snapshot, top, measure, index }} />}
    </Draggable>
  );
});

interface RowItemProps extends Pick<ColumnRowsProps, 'RequestSlot'> {
  stageId: StageId;
  drag: DraggableProvided;
  snapshot: DraggableStateSnapshot;
  index?: number;
  top?: number | undefined;
  measure?: ((element: HTMLElement | null) => void) | undefined;
}

/** A row in its place, or under the pointer that moves it. */
export function RowItem({ stageId, RequestSlot, drag, snapshot, index, top, measure }: RowItemProps) {
  const isStill = useReducedMotion();
  const { innerRef } = drag;
  const ref = useCallback(
    (element: HTMLLIElement | null) => {
      innerRef(element);
      measure?.(element);
    },
    [innerRef, measure],
  );
  const style = {
    ...(top === undefined || snapshot.isDragging ? {} : { position: 'absolute', top, left: 0, right: 0 }),
    ...drag.draggableProps.style,
    ...(snapshot.isDropAnimating && isStill ? AT_ONCE : {}),
  };
  return (
    <li
      ref={ref}
      data-index={index}
      {...drag.draggableProps}
      {...handleProps(drag)}
      style={style as CSSProperties}
      data-dragging={snapshot.isDragging}
    >
      <StageRow stageId={stageId} RequestSlot={RequestSlot} dragHelp={drag.dragHandleProps?.['aria-describedby']} />
    </li>
  );
}

const AT_ONCE: CSSProperties = { transitionDuration: '0.001s' };

/** The whole row is the drag handle, but its link has the focus: a button must not contain buttons. */
function handleProps({ dragHandleProps }: DraggableProvided) {
  if (dragHandleProps === null) return {};
  const { role: _role, tabIndex: _tabIndex, 'aria-describedby': _help, ...rest } = dragHandleProps;
  return rest;
}

const SCROLL_KEY = 'callboard-scroll-';
const keptScroll = (column: Column): number => Number(sessionStorage.getItem(SCROLL_KEY + column) ?? 0);

/** The list's element. Restores where it was scrolled to, after another page and after a reload. */
function useList(column: Column, { innerRef }: DroppableProvided) {
  const element = useRef<HTMLUListElement>(null);
  const attach = useCallback(
    (list: HTMLUListElement | null) => {
      element.current = list;
      innerRef(list);
      const kept = keptScroll(column);
      if (list !== null && kept > 0) list.scrollTop = kept;
    },
    [innerRef, column],
  );
  const onScroll = useCallback(
    ({ currentTarget }: { currentTarget: HTMLElement }) =>
      sessionStorage.setItem(SCROLL_KEY + column, String(Math.round(currentTarget.scrollTop))),
    [column],
  );
  return { element, attach, onScroll };
}
