import type { BoardView, Column, StageId } from '@callboard/contract';
import { useMediaQuery } from '@mantine/hooks';
import { IconChevronsLeft, IconChevronsRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, useCallback, useId } from 'react';
import { Link } from 'react-router';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useBoardFilter } from '../api/use-board-filter.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { COLUMN_EMPTY, COLUMN_TITLES, columnStages, countElsewhere } from '../model/columns.ts';
import { dropOn } from '../model/drop.ts';
import { isFiltering } from '../model/filter.ts';
import { useLifted } from '../model/lifted.ts';
import css from './board.module.css';
import { AllRows, type ColumnRowsProps, MAX_DRAWN, VirtualRows } from './column-rows.tsx';
import type { RowSlots } from './stage-row.tsx';

interface BoardColumnProps extends Pick<RowSlots, 'RequestSlot'> {
  column: Column;
  /** Draws the rows, where they are more than one list. */
  CellsSlot?: ComponentType<ColumnRowsProps>;
}

/** One column: its head, its rows, and what a drop on it would do. */
export function BoardColumn({ column, RequestSlot, CellsSlot }: BoardColumnProps) {
  const { filter, save } = useBoardFilter();
  const select = useCallback((view: BoardView) => columnStages(view, column, save), [column, save]);
  const { data: stageIds = [] } = useQuery({ ...boardQuery, select });
  const selectElsewhere = useCallback(
    (view: BoardView) => (column === 'needs-you' ? countElsewhere(view, save) : 0),
    [column, save],
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
      data-column={column}
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
      <DropTarget
        column={column}
        isPhone={isPhone}
        RequestSlot={RequestSlot}
        CellsSlot={CellsSlot}
        stageIds={isFolded ? [] : stageIds}
      />
    </section>
  );
}

function FoldButton({ column, isFolded }: { column: Column; isFolded: boolean }) {
  const toggleFold = useBoardUi((ui) => ui.toggleFold);
  const label = isFolded ? `Unfold ${COLUMN_TITLES[column]}` : `Fold ${COLUMN_TITLES[column]}`;
  const Icon = isFolded ? IconChevronsRight : IconChevronsLeft;
  return (
    <button type="button" className={css.fold} aria-label={label} title={label} onClick={() => toggleFold(column)}>
      <Icon size={14} />
    </button>
  );
}

interface DropTargetProps extends BoardColumnProps {
  stageIds: readonly StageId[];
  isPhone: boolean;
}

function DropTarget({ column, stageIds, isPhone, RequestSlot, CellsSlot }: DropTargetProps) {
  const isOff = !useCanCommand();
  const isFixed = isOff || isPhone;
  const lifted = useLifted(({ lifted }) => (lifted?.over === column ? lifted.stageId : null));
  const Rows = CellsSlot ?? (stageIds.length > MAX_DRAWN ? VirtualRows : AllRows);
  return (
    <>
      <Rows column={column} stageIds={stageIds} isOff={isOff} isFixed={isFixed} RequestSlot={RequestSlot} />
      {lifted !== null && <DropHint stageId={lifted} column={column} />}
    </>
  );
}

/** What happens if the row is dropped here. */
function DropHint({ stageId, column }: { stageId: StageId; column: Column }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const drop = stage === undefined ? null : dropOn(stage, column);
  if (drop === null || drop.kind === 'nothing') return null;
  return (
    <div className={css.dropHint} data-refused={drop.kind === 'refused'}>
      {drop.text}
    </div>
  );
}
