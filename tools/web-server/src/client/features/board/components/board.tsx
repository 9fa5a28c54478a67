import { Button } from '@mantine/core';
import { IconFolderPlus, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useCanCommand } from '../../../live/live-context.tsx';
import { boardQuery } from '../../../live/queries.ts';
import { Note } from '../../../ui/note.tsx';
import { useBoardUi } from '../model/board-ui.ts';
import css from './board.module.css';
import { BoardColumns } from './board-columns.tsx';
import { Doors } from './doors.tsx';
import type { StageCardProps } from './stage-card.tsx';

const BoardForms = lazy(() => import('./board-forms.tsx'));

/** The board with its bar, and the forms that open over it. */
export function Board({ RequestSlot }: Pick<StageCardProps, 'RequestSlot'>) {
  const { data: isEmpty } = useQuery({ ...boardQuery, select: (view) => view.stages.length === 0 });
  return (
    <div className={css.page}>
      <BoardBar />
      <Warnings />
      {isEmpty === true && <Doors />}
      <BoardColumns RequestSlot={RequestSlot} />
      {/* Loaded once the board is there, and closed until it is needed. */}
      <Suspense fallback={null}>
        <BoardForms />
      </Suspense>
    </div>
  );
}

/** What is not as it should be on this machine. */
function Warnings() {
  const { data: warnings = [] } = useQuery({ ...boardQuery, select: (view) => view.warnings });
  return warnings.map((warning) => (
    <div key={warning} className={css.warning}>
      <Note>{warning}</Note>
    </div>
  ));
}

function BoardBar() {
  const { data: hasProject } = useQuery({ ...boardQuery, select: (view) => view.projects.length > 0 });
  const { openNewStage, openAddProject } = useBoardUi.getState();
  const off = !useCanCommand();
  return (
    <div className={css.bar}>
      <h1>Board</h1>
      <Button
        variant="default"
        leftSection={<IconFolderPlus size={16} />}
        disabled={off}
        onClick={() => openAddProject()}
      >
        Add project
      </Button>
      <Button
        leftSection={<IconPlus size={16} />}
        disabled={off}
        onClick={() => (hasProject === true ? openNewStage() : openAddProject({ thenNewStage: true }))}
      >
        New stage
      </Button>
    </div>
  );
}
