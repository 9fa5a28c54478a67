import type { ComponentType, HTMLAttributes } from 'react';
import { useBoardKeys } from '../api/use-board-keys.ts';
import { BoardRowsProvider, useBoardRows } from '../api/use-card.ts';
import { useRowDrag } from '../api/use-row-drag.ts';
import { useRowLinks } from '../api/use-row-links.ts';
import { COLUMNS } from '../model/columns.ts';
import { useLifted } from '../model/lifted.ts';
import css from './board.module.css';
import { BoardColumn } from './board-column.tsx';
import { DRAG_HELP } from './column-rows.tsx';
import { ColumnTabs } from './column-tabs.tsx';
import type { RowSlots } from './stage-row.tsx';

export interface LanesSlotProps extends Pick<RowSlots, 'RequestSlot'> {
  /** What moves rows and follows their links; for the element around all columns. */
  handlers: HTMLAttributes<HTMLElement>;
}

interface BoardColumnsProps extends RowSlots {
  /** Draws the columns cut into lanes. */
  LanesSlot?: ComponentType<LanesSlotProps> | undefined;
}

/** The six columns; on a phone one at a time. Dragging a row to another column is a command. */
export function BoardColumns({ RequestSlot, arm, LanesSlot }: BoardColumnsProps) {
  useBoardKeys(arm);
  const rows = useBoardRows();
  const handlers = { ...useRowDrag(), onClick: useRowLinks() };
  return (
    <>
      <ColumnTabs />
      <BoardRowsProvider value={rows}>
        {LanesSlot === undefined ? (
          <div className={css.columns} {...handlers}>
            {COLUMNS.map((column) => (
              <BoardColumn key={column} column={column} RequestSlot={RequestSlot} />
            ))}
          </div>
        ) : (
          <LanesSlot handlers={handlers} RequestSlot={RequestSlot} />
        )}
      </BoardRowsProvider>
      <p hidden id={DRAG_HELP}>
        Press space to lift the stage, the arrow keys to move it to another column, space to drop it and Escape to
        cancel. Dropped on Running it starts, on Done it is completed.
      </p>
      <Said />
    </>
  );
}

/** Tells a screen reader where a lifted row is. */
function Said() {
  const said = useLifted((state) => state.said);
  return (
    <div className="visually-hidden" aria-live="assertive">
      {said}
    </div>
  );
}
