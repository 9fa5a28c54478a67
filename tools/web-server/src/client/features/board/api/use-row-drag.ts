import { Column, StageId, type StageView } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, type KeyboardEvent, type SyntheticEvent, useEffect, useRef } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { COLUMN_TITLES, COLUMNS } from '../model/columns.ts';
import { dropOn } from '../model/drop.ts';
import { useLifted } from '../model/lifted.ts';
import { showRefusedDrop, useDropCommand } from './use-board-commands.ts';

/** What a row says of itself while it can be moved; its value is the stage's id. */
export const ROW = 'data-row';
/** The attribute of a column's element; its value is the column. */
const COLUMN = 'data-column';

/**
 * Moves rows to other columns: with the browser's own drag and drop, or with Space and the arrow keys. A drop is a command.
 * These handlers belong to the element around all columns, so that a row costs nothing for being movable.
 */
export function useRowDrag() {
  const move = useMove();
  /** Where the pointer went down: a press that begins on a button moves no row. */
  const pressed = useRef<Element | null>(null);
  useEndOfDrag();
  return {
    onPointerDownCapture: ({ target }: SyntheticEvent) => {
      pressed.current = target instanceof Element ? target : null;
      if (useLifted.getState().lifted?.by === 'keys') move.cancel();
    },
    onDragStart: (event: DragEvent) => {
      const stageId = rowOf(event.target);
      if (stageId === null) return;
      if (pressed.current?.closest('button') != null) {
        event.preventDefault();
        return;
      }
      event.dataTransfer.effectAllowed = 'move';
      event.dataTransfer.setData('text/plain', stageId);
      // The browser takes its picture of the row first.
      requestAnimationFrame(() => move.lift(stageId, 'pointer'));
    },
    onDragOver: (event: DragEvent) => {
      if (useLifted.getState().lifted?.by !== 'pointer') return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'move';
      move.over(columnOf(event.target));
    },
    onDragLeave: (event: DragEvent) => {
      if (event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget)) return;
      if (useLifted.getState().lifted?.by === 'pointer') move.over(null);
    },
    onDrop: (event: DragEvent) => {
      if (useLifted.getState().lifted?.by !== 'pointer') return;
      event.preventDefault();
      move.over(columnOf(event.target));
      move.drop();
    },
    onKeyDown: (event: KeyboardEvent) => {
      const { lifted } = useLifted.getState();
      const isHandled = lifted?.by === 'keys' ? onLiftedKey(event.key, move) : liftByKey(event, move);
      if (!isHandled) return;
      event.preventDefault();
      event.stopPropagation();
    },
    onBlur: () => {
      if (useLifted.getState().lifted?.by === 'keys') move.cancel();
    },
  };
}

type Move = ReturnType<typeof useMove>;

function liftByKey({ key, target, ...event }: KeyboardEvent, move: Move): boolean {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  if (key !== ' ' || !isPlain || !(target instanceof HTMLElement) || target.dataset.card === undefined) return false;
  const stageId = rowOf(target);
  if (stageId !== null) move.lift(stageId, 'keys');
  return stageId !== null;
}

/** All keys are the lifted row's. */
function onLiftedKey(key: string, move: Move): boolean {
  if (key === 'ArrowLeft') move.step(-1);
  if (key === 'ArrowRight') move.step(1);
  if (key === ' ') move.drop();
  if (key === 'Escape') move.cancel();
  return true;
}

function useMove() {
  const cache = useQueryClient();
  const command = useDropCommand();
  const find = (stageId: string): StageView | undefined =>
    cache.getQueryData(boardQuery.queryKey)?.stages.find(({ id }) => id === stageId);
  const over = (column: Column | null): void => {
    const { lifted, moveOver } = useLifted.getState();
    const stage = lifted === null ? undefined : find(lifted.stageId);
    if (stage === undefined || column === null) {
      moveOver(column, '');
      return;
    }
    const drop = dropOn(stage, column);
    moveOver(column, `${COLUMN_TITLES[column]}. ${drop.kind === 'nothing' ? 'It is there already.' : drop.text}`);
  };
  const cancel = (): void => useLifted.getState().putDown('Nothing was changed.');
  return {
    lift: (stageId: StageId, by: 'keys' | 'pointer'): void => {
      const stage = find(stageId);
      if (stage === undefined) return;
      const text = `${stage.title} is lifted from ${COLUMN_TITLES[stage.column]}.`;
      useLifted.getState().lift({ stageId, by, over: stage.column }, text);
    },
    over,
    step: (by: 1 | -1): void => {
      const column = useLifted.getState().lifted?.over;
      const next = column == null ? undefined : COLUMNS[COLUMNS.indexOf(column) + by];
      if (next !== undefined) over(next);
    },
    drop: (): void => {
      const { lifted, putDown } = useLifted.getState();
      const stage = lifted === null ? undefined : find(lifted.stageId);
      if (lifted === null || stage === undefined || lifted.over === null) {
        cancel();
        return;
      }
      const drop = dropOn(stage, lifted.over);
      putDown(drop.kind === 'nothing' ? 'Nothing was changed.' : '');
      if (drop.kind === 'command') command.mutate({ stage, verb: drop.verb });
      if (drop.kind === 'refused') showRefusedDrop(drop.text);
    },
    cancel,
  };
}

/** Puts the row down when a drag ends outside of the columns, or after its row has left the page, which nothing tells. */
function useEndOfDrag(): void {
  const isDragging = useLifted(({ lifted }) => lifted?.by === 'pointer');
  useEffect(() => {
    if (!isDragging) return;
    const end = () => useLifted.getState().putDown('Nothing was changed.');
    document.addEventListener('dragend', end);
    // The pointer does not move while something is dragged.
    document.addEventListener('pointermove', end);
    return () => {
      document.removeEventListener('dragend', end);
      document.removeEventListener('pointermove', end);
    };
  }, [isDragging]);
  useEffect(() => () => useLifted.getState().putDown(''), []);
}

function rowOf(target: EventTarget): StageId | null {
  const row = target instanceof Element ? target.closest(`[${ROW}]`) : null;
  return row === null ? null : StageId.parse(row.getAttribute(ROW));
}

function columnOf(target: EventTarget): Column | null {
  const section = target instanceof Element ? target.closest(`section[${COLUMN}]`) : null;
  return section === null ? null : Column.parse(section.getAttribute(COLUMN));
}
