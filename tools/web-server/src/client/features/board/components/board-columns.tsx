import type { BoardView, Column } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useId } from 'react';
import { boardQuery } from '../../../live/queries.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { COLUMN_EMPTY, COLUMN_TITLES, COLUMNS, columnCounts, columnStages, PHONE_COLUMNS } from '../model/columns.ts';
import css from './board.module.css';
import { StageCard, type StageCardProps } from './stage-card.tsx';

type Slots = Pick<StageCardProps, 'RequestSlot'>;

/** The six columns, always there; on a phone one at a time. */
export function BoardColumns({ RequestSlot }: Slots) {
  return (
    <>
      <ColumnTabs />
      <div className={css.columns}>
        {COLUMNS.map((column) => (
          <BoardColumn key={column} column={column} RequestSlot={RequestSlot} />
        ))}
      </div>
    </>
  );
}

const SHOWN_DONE = 20;

function BoardColumn({ column, RequestSlot }: { column: Column } & Slots) {
  const select = useCallback((view: BoardView) => columnStages(view, column), [column]);
  const { data: stageIds = [] } = useQuery({ ...boardQuery, select });
  const onPhone = useBoardUi((ui) => ui.phoneColumn === column);
  const showAll = useBoardUi((ui) => ui.showAllDone || column !== 'done');
  const showDone = useBoardUi((ui) => ui.showDone);
  const titleId = useId();
  const shown = showAll ? stageIds : stageIds.slice(0, SHOWN_DONE);
  return (
    <section
      className={css.column}
      aria-labelledby={titleId}
      data-phone={onPhone}
      data-needs={column === 'needs-you' && stageIds.length > 0}
    >
      <header className={css.columnHead}>
        <h2 className={css.columnTitle} id={titleId}>
          {COLUMN_TITLES[column]}
        </h2>
        <span className={css.count}>{stageIds.length}</span>
      </header>
      {stageIds.length === 0 && <p className={css.none}>{COLUMN_EMPTY[column]}</p>}
      <ul className={css.cards}>
        {shown.map((stageId) => (
          <li key={stageId}>
            <StageCard stageId={stageId} RequestSlot={RequestSlot} />
          </li>
        ))}
        {shown.length < stageIds.length && (
          <li>
            <Button variant="subtle" size="compact-sm" fullWidth onClick={showDone}>
              Show all {stageIds.length}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}

function ColumnTabs() {
  const { data: counts } = useQuery({ ...boardQuery, select: columnCounts });
  const current = useBoardUi((ui) => ui.phoneColumn);
  const setCurrent = useBoardUi((ui) => ui.setPhoneColumn);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields
    <div className={css.tabs} role="group" aria-label="Column shown">
      {PHONE_COLUMNS.map((column) => (
        <button
          key={column}
          type="button"
          className={css.tab}
          aria-pressed={column === current}
          data-needs={column === 'needs-you' && (counts?.[column] ?? 0) > 0}
          onClick={() => setCurrent(column)}
        >
          {COLUMN_TITLES[column]} <span className={css.tabCount}>{counts?.[column] ?? 0}</span>
        </button>
      ))}
    </div>
  );
}
