import type { BoardView, ProjectId } from '@callboard/contract';
import { Button, Menu } from '@mantine/core';
import { IconChevronDown, IconFolder, IconFolderPlus, IconPlayerPause, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import { openPausesDialog } from '../../../data/holds.ts';
import { boardQuery } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorBoundary, lazyComponent } from '../../../ui/error-boundary.tsx';
import { useDisplay } from '../api/use-display.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { laneOf } from '../model/lanes.ts';
import css from './board.module.css';
import { BoardColumns } from './board-columns.tsx';
import { BoardFilterProvider } from './board-filter-provider.tsx';
import { BoardNotices } from './board-notices.tsx';
import { DisplaySwitch } from './display-switch.tsx';
import { FilterBar } from './filter-bar.tsx';
import type { RowSlots } from './stage-row.tsx';

const BoardForms = lazyComponent(() => import('./board-forms.tsx'));
// Not every board needs these, and none waits for them.
const BoardLanes = lazyComponent(() => import('./board-lanes.tsx'));
const StageGraph = lazyComponent(() => import('./stage-graph.tsx'));
const EmptyBoard = lazyComponent(async () => ({ default: (await import('./empty-board.tsx')).EmptyBoard }));
const PickedBar = lazyComponent(async () => ({ default: (await import('./picked-bar.tsx')).PickedBar }));

interface BoardProps extends RowSlots {
  /** A project's stored permission rules. */
  RulesSlot: ComponentType<{ projectId: ProjectId }>;
}

/** The board: its bar, notices and columns, and the forms that open over it. */
export function Board({ RequestSlot, arm, RulesSlot }: BoardProps) {
  const form = useBoardUi((ui) => ui.form?.kind ?? null);
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const { data: isEmpty } = useQuery({ ...boardQuery, select: (view) => view.stages.length === 0 });
  return (
    <div className={css.page}>
      <BoardFilterProvider>
        <BoardBar filters={isEmpty === false} />
        <BoardNotices />
        {isEmpty === true && (
          <ErrorBoundary name="The first steps">
            <EmptyBoard />
          </ErrorBoundary>
        )}
        <Stages RequestSlot={RequestSlot} arm={arm} />
      </BoardFilterProvider>
      {/* Loaded once the board is there, and closed until it is needed. */}
      <ErrorBoundary name="The form" resetKey={form} close={closeForm}>
        <BoardForms RulesSlot={RulesSlot} />
      </ErrorBoundary>
    </div>
  );
}

/** The stages as the address says: in columns, in lanes of groups, or as a graph. */
function Stages(slots: RowSlots) {
  const { display } = useDisplay();
  if (display === 'columns') return <BoardColumns {...slots} />;
  if (display === 'lanes')
    return (
      <ErrorBoundary key="lanes" name="The groups">
        <BoardColumns {...slots} LanesSlot={BoardLanes} />
      </ErrorBoundary>
    );
  return (
    <ErrorBoundary key="graph" name="The graph">
      <StageGraph />
    </ErrorBoundary>
  );
}

/** Without either, lanes and graph would say no more than the columns. */
const hasGroupsOrDependencies = ({ stages }: BoardView): boolean =>
  stages.some((stage) => stage.dependsOn.length > 0 || laneOf(stage) !== '');

function BoardBar({ filters }: { filters: boolean }) {
  const { data: hasProject } = useQuery({ ...boardQuery, select: (view) => view.projects.length > 0 });
  const { data: hasStructure } = useQuery({ ...boardQuery, select: hasGroupsOrDependencies });
  const { display } = useDisplay();
  const hasPicked = useBoardUi((ui) => ui.picked.size > 0);
  const { open } = useBoardUi.getState();
  const off = !useCanCommand();
  return (
    <div className={css.bar}>
      <h1>Board</h1>
      {filters && (hasStructure === true || display !== 'columns') && <DisplaySwitch />}
      {filters && <FilterBar />}
      {hasPicked && (
        <ErrorBoundary name="The bar of the selected stages">
          <PickedBar />
        </ErrorBoundary>
      )}
      <div className={css.barEnd}>
        {hasProject === true ? (
          <ProjectsMenu />
        ) : (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconFolderPlus size={16} />}
            disabled={off}
            onClick={() => open({ kind: 'add-project', thenNewStage: false })}
          >
            Add project
          </Button>
        )}
        <Button
          size="xs"
          title="New stage (N)"
          leftSection={<IconPlus size={16} />}
          disabled={off}
          onClick={() =>
            open(
              hasProject === true
                ? { kind: 'new-stage', projectId: null }
                : { kind: 'add-project', thenNewStage: true },
            )
          }
        >
          New stage
        </Button>
      </div>
    </div>
  );
}

function ProjectsMenu() {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const { open } = useBoardUi.getState();
  return (
    <Menu>
      <Menu.Target>
        <Button
          className={css.projectsButton}
          size="xs"
          variant="default"
          leftSection={<IconFolder size={18} />}
          rightSection={<IconChevronDown size={16} />}
        >
          Projects
        </Button>
      </Menu.Target>
      <Menu.Dropdown className={css.projects}>
        {projects.map((project) => (
          <Menu.Item
            key={project.id}
            leftSection={<IconFolder size={16} />}
            onClick={() => open({ kind: 'project', projectId: project.id })}
          >
            {project.name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          leftSection={<IconFolderPlus size={16} />}
          disabled={!useCanCommand()}
          onClick={() => open({ kind: 'add-project', thenNewStage: false })}
        >
          Add project
        </Menu.Item>
        <Menu.Item leftSection={<IconPlayerPause size={16} />} onClick={openPausesDialog}>
          Hold and release
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
