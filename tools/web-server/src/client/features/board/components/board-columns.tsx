import type { Column, StageView } from '@callboard/contract';
import {
  DragDropContext,
  type DragStart,
  type DragUpdate,
  type DropResult,
  type ResponderProvided,
} from '@hello-pangea/dnd';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { tellRefusedDrop, useDropCommand } from '../api/use-board-commands.ts';
import { useBoardKeys } from '../api/use-board-keys.ts';
import { COLUMN_TITLES, COLUMNS } from '../model/columns.ts';
import { dropOn } from '../model/drop.ts';
import css from './board.module.css';
import { BoardColumn } from './board-column.tsx';
import { ColumnTabs } from './column-tabs.tsx';
import type { RowSlots } from './stage-row.tsx';

const HELP =
  'Press space to lift the stage, the arrow keys to move it to another column, space to drop it and Escape to cancel. Dropped on Running it starts, on Done it is completed.';

/** The six columns; on a phone one at a time. Dragging a row to another column is a command. */
export function BoardColumns({ RequestSlot, arm }: RowSlots) {
  const cache = useQueryClient();
  useBoardKeys(arm);
  const command = useDropCommand();
  const find = useCallback(
    (stageId: string): StageView | undefined =>
      cache.getQueryData(boardQuery.queryKey)?.stages.find((stage) => stage.id === stageId),
    [cache],
  );
  const onDragStart = ({ draggableId, source }: DragStart, { announce }: ResponderProvided) =>
    announce(`${find(draggableId)?.title} is lifted from ${COLUMN_TITLES[source.droppableId as Column]}.`);
  const onDragUpdate = ({ draggableId, destination }: DragUpdate, { announce }: ResponderProvided) => {
    const stage = find(draggableId);
    if (stage === undefined || destination === null) return;
    const column = destination.droppableId as Column;
    const drop = dropOn(stage, column);
    announce(`${COLUMN_TITLES[column]}. ${drop.kind === 'nothing' ? 'It is there already.' : drop.words}`);
  };
  const onDragEnd = ({ draggableId, destination }: DropResult, { announce }: ResponderProvided) => {
    const stage = find(draggableId);
    if (stage === undefined || destination === null) return announce('Nothing was changed.');
    const drop = dropOn(stage, destination.droppableId as Column);
    if (drop.kind === 'command') command.mutate({ stage, verb: drop.verb });
    if (drop.kind === 'refused') tellRefusedDrop(drop.words);
  };
  return (
    <DragDropContext
      onDragStart={onDragStart}
      onDragUpdate={onDragUpdate}
      onDragEnd={onDragEnd}
      dragHandleUsageInstructions={HELP}
    >
      <ColumnTabs />
      <div className={css.columns}>
        {COLUMNS.map((column) => (
          <BoardColumn key={column} column={column} RequestSlot={RequestSlot} />
        ))}
      </div>
    </DragDropContext>
  );
}
