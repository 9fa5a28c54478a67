import type { BoardView, Column, StageId } from '@callboard/contract';
import { Draggable, type DraggableProvided, Droppable, type DroppableProvided } from '@hello-pangea/dnd';
import { ActionIcon, Button } from '@mantine/core';
import { useMediaQuery, useReducedMotion } from '@mantine/hooks';
import { IconChevronsLeft, IconChevronsRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type CSSProperties, useCallback, useId } from 'react';
import { Link } from 'react-router';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useBoardFilter } from '../api/use-board-filter.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { COLUMN_EMPTY, COLUMN_TITLES, columnStages, countElsewhere } from '../model/columns.ts';
import { dropOn } from '../model/drop.ts';
import { isFiltering } from '../model/filter.ts';
import css from './board.module.css';
import { StageCard, type StageCardProps } from './stage-card.tsx';

const SHOWN_DONE = 20;

interface BoardColumnProps extends Pick<StageCardProps, 'RequestSlot'> {
  column: Column;
}

/** One column: its head, its cards, and what a drop on it would do. */
export function BoardColumn({ column, RequestSlot }: BoardColumnProps) {
  const { filter, keep } = useBoardFilter();
  const select = useCallback((view: BoardView) => columnStages(view, column, keep), [column, keep]);
  const { data: stageIds = [] } = useQuery({ ...boardQuery, select });
  const selectElsewhere = useCallback(
    (view: BoardView) => (column === 'needs-you' ? countElsewhere(view, keep) : 0),
    [column, keep],
  );
  const { data: elsewhere = 0 } = useQuery({ ...boardQuery, select: selectElsewhere });
  const count = stageIds.length + elsewhere;
  const isPhone = useMediaQuery('(max-width: 767px)', false) ?? false;
  const onPhone = useBoardUi((ui) => ui.phoneColumn === column);
  const isFolded = useBoardUi((ui) => ui.folded.includes(column)) && !isPhone;
  const titleId = useId();
  const empty = isFiltering(filter) ? 'Nothing matches' : COLUMN_EMPTY[column];
  return (
    <section
      className={css.column}
      aria-labelledby={titleId}
      data-phone={onPhone}
      data-folded={isFolded}
      data-needs={column === 'needs-you' && count > 0}
    >
      <header className={css.columnHead}>
        <h2 className={css.columnTitle} id={titleId}>
          {COLUMN_TITLES[column]}
        </h2>
        <span className={css.count}>{count}</span>
        <FoldButton column={column} isFolded={isFolded} />
      </header>
      {!isFolded && count === 0 && <p className={css.none}>{empty}</p>}
      {!isFolded && elsewhere > 0 && (
        <p className={css.none}>
          <Link to="/inbox">
            {elsewhere} {stageIds.length > 0 && 'more '}in the inbox
          </Link>
        </p>
      )}
      <Droppable droppableId={column}>
        {(provided, { draggingOverWith }) => (
          <>
            <Cards
              column={column}
              stageIds={isFolded ? [] : stageIds}
              canDrag={!isPhone}
              provided={provided}
              RequestSlot={RequestSlot}
            />
            {draggingOverWith != null && <DropHint stageId={draggingOverWith as StageId} column={column} />}
          </>
        )}
      </Droppable>
    </section>
  );
}

function FoldButton({ column, isFolded }: { column: Column; isFolded: boolean }) {
  const toggleFold = useBoardUi((ui) => ui.toggleFold);
  const label = isFolded ? `Unfold ${COLUMN_TITLES[column]}` : `Fold ${COLUMN_TITLES[column]}`;
  const Icon = isFolded ? IconChevronsRight : IconChevronsLeft;
  return (
    <ActionIcon
      className={css.fold}
      variant="subtle"
      color="gray"
      size={24}
      aria-label={label}
      title={label}
      onClick={() => toggleFold(column)}
    >
      <Icon size={16} />
    </ActionIcon>
  );
}

interface CardsProps extends BoardColumnProps {
  stageIds: readonly StageId[];
  canDrag: boolean;
  provided: DroppableProvided;
}

function Cards({ column, stageIds, canDrag, provided, RequestSlot }: CardsProps) {
  const showAll = useBoardUi((ui) => ui.showAllDone || column !== 'done');
  const showDone = useBoardUi((ui) => ui.showDone);
  const scroll = useKeptScroll(column);
  const isOff = !useCanCommand() || !canDrag;
  const isStill = useReducedMotion();
  const shown = showAll ? stageIds : stageIds.slice(0, SHOWN_DONE);
  const { innerRef, droppableProps } = provided;
  const { attach } = scroll;
  const ref = useCallback(
    (list: HTMLUListElement | null) => {
      innerRef(list);
      attach(list);
    },
    [innerRef, attach],
  );
  return (
    <ul className={css.cards} ref={ref} onScroll={scroll.onScroll} {...droppableProps}>
      {shown.map((stageId, index) => (
        <Draggable key={stageId} draggableId={stageId} index={index} isDragDisabled={isOff}>
          {(drag, { isDragging, isDropAnimating }) => (
            <li
              ref={drag.innerRef}
              {...drag.draggableProps}
              {...handleProps(drag)}
              style={{ ...drag.draggableProps.style, ...(isDropAnimating && isStill ? AT_ONCE : {}) } as CSSProperties}
              data-dragging={isDragging}
            >
              <StageCard
                stageId={stageId}
                RequestSlot={RequestSlot}
                dragHelp={drag.dragHandleProps?.['aria-describedby']}
              />
            </li>
          )}
        </Draggable>
      ))}
      {provided.placeholder}
      {shown.length < stageIds.length && (
        <li>
          <Button variant="subtle" size="compact-sm" fullWidth onClick={showDone}>
            Show all {stageIds.length}
          </Button>
        </li>
      )}
    </ul>
  );
}

const AT_ONCE: CSSProperties = { transitionDuration: '0.001s' };

/** The whole card is the drag handle, but its link has the focus: a button must not contain buttons. */
function handleProps({ dragHandleProps }: DraggableProvided) {
  if (dragHandleProps === null) return {};
  const { role: _role, tabIndex: _tabIndex, 'aria-describedby': _help, ...rest } = dragHandleProps;
  return rest;
}

const SCROLL_KEY = 'callboard-scroll-';

/** Restores where a column was scrolled to, after another page and after a reload. */
function useKeptScroll(column: Column) {
  const attach = useCallback(
    (list: HTMLElement | null) => {
      const kept = Number(sessionStorage.getItem(SCROLL_KEY + column) ?? 0);
      if (list !== null && kept > 0) list.scrollTop = kept;
    },
    [column],
  );
  const onScroll = useCallback(
    ({ currentTarget }: { currentTarget: HTMLElement }) =>
      sessionStorage.setItem(SCROLL_KEY + column, String(Math.round(currentTarget.scrollTop))),
    [column],
  );
  return { attach, onScroll };
}

/** What happens if the card is dropped here. */
function DropHint({ stageId, column }: { stageId: StageId; column: Column }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const drop = stage === undefined ? null : dropOn(stage, column);
  if (drop === null || drop.kind === 'nothing') return null;
  return (
    <div className={css.dropHint} data-refused={drop.kind === 'refused'}>
      {drop.words}
    </div>
  );
}
