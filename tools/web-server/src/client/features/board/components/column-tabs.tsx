import type { BoardView, Column } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useCallback } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useBoardFilter } from '../api/use-board-filter.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { COLUMN_TITLES, columnCounts, PHONE_COLUMNS } from '../model/columns.ts';
import css from './board.module.css';

/** Selects the column a phone shows. Tab reaches one of the tabs, the arrow keys the others. */
export function ColumnTabs() {
  const { save } = useBoardFilter();
  const select = useCallback((view: BoardView) => columnCounts(view, save), [save]);
  const { data: counts } = useQuery({ ...boardQuery, select });
  const current = useBoardUi((ui) => ui.phoneColumn);
  const setCurrent = useBoardUi((ui) => ui.setPhoneColumn);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const next = columnAt(current, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setCurrent(next);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next}"]`)?.focus();
  };
  return (
    <div className={css.tabs} role="tablist" aria-label="Column shown" onKeyDown={onKeyDown}>
      {PHONE_COLUMNS.map((column) => (
        <button
          key={column}
          type="button"
          role="tab"
          className={css.tab}
          aria-selected={column === current}
          tabIndex={column === current ? 0 : -1}
          data-tab={column}
          data-needs={column === 'needs-you' && (counts?.[column] ?? 0) > 0}
          onClick={() => setCurrent(column)}
        >
          {COLUMN_TITLES[column]} <span className={css.tabCount}>{counts?.[column] ?? 0}</span>
        </button>
      ))}
    </div>
  );
}

/** The tab a key moves to, wrapping around at the ends. */
function columnAt(current: Column, key: string): Column | undefined {
  const place = PHONE_COLUMNS.indexOf(current);
  switch (key) {
    case 'ArrowLeft':
      return PHONE_COLUMNS.at(place - 1);
    case 'ArrowRight':
      return PHONE_COLUMNS[(place + 1) % PHONE_COLUMNS.length];
    case 'Home':
      return PHONE_COLUMNS[0];
    case 'End':
      return PHONE_COLUMNS.at(-1);
    default:
      return undefined;
  }
}
