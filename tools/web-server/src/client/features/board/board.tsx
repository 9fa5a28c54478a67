import type { BoardView } from '@callboard/contract';
import { Button, Menu } from '@mantine/core';
import {
  IconChevronDown,
  IconColumns3,
  IconFolder,
  IconFolderPlus,
  IconHierarchy,
  IconLayoutRows,
  IconList,
  IconPlayerPause,
  IconPlus,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, useCallback } from 'react';
import { useSearchParams } from 'react-router';
import { useBoardUi } from '../../data/board-ui.ts';
import { pausesDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { withBase } from '../../lib/base-path.ts';
import { currentParams } from '../../lib/hooks.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { ErrorBoundary, lazyComponent } from '../../ui/error-boundary.tsx';
import { FullPage } from '../../ui/primitives.tsx';
import { useShortcuts } from '../../ui/shortcuts.tsx';
import css from './board.module.css';
import { BoardColumns } from './board-columns.tsx';
import {
  BoardFilterProvider,
  DISPLAY_TEXTS,
  DISPLAYS,
  type Display,
  FilterBar,
  readDisplay,
  writeDisplay,
} from './board-filter.tsx';
import { BoardNotices } from './board-notices.tsx';
import { laneOf } from './columns.ts';
import type { CardSlots } from './stage-card.tsx';

// Not every board needs these, and none waits for them.
const BoardLanes = lazyComponent(() => import('./board-lanes.tsx'));
const StageList = lazyComponent(() => import('./stage-list.tsx'));
const StageGraph = lazyComponent(() => import('./stage-graph.tsx'));
const EmptyBoard = lazyComponent(async () => ({ default: (await import('./empty-board.tsx')).EmptyBoard }));
const PickedBar = lazyComponent(async () => ({ default: (await import('./picked-bar.tsx')).PickedBar }));

interface BoardProps extends CardSlots {
  /** The form that is open over the board. */
  FormsSlot: ComponentType;
}

/** The board: its bar, notices and columns, and the forms that open over it. */
export function Board({ RequestSlot, arm, FormsSlot }: BoardProps) {
  const form = useBoardUi((ui) => ui.form?.kind ?? null);
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const { data: isEmpty } = useQuery({ ...boardQuery, select: (view) => view.stages.length === 0 });
  return (
    <FullPage>
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
        <FormsSlot />
      </ErrorBoundary>
    </FullPage>
  );
}

/** The stages as the address says. */
function Stages(slots: CardSlots) {
  const { display } = useDisplay();
  if (display === 'columns') return <BoardColumns {...slots} />;
  if (display === 'list')
    return (
      <ErrorBoundary key="list" name="The list">
        <StageList />
      </ErrorBoundary>
    );
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
  const hasPicked = useBoardUi((ui) => ui.picked.size > 0);
  const { open } = useBoardUi.getState();
  const off = !useCanCommand();
  return (
    <div className={css.bar}>
      <h1 className={filters ? 'visually-hidden-on-phone' : undefined}>Board</h1>
      {filters && <DisplaySwitch hasStructure={hasStructure === true} />}
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
          <span className="visually-hidden-on-phone">Projects</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
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
        <Menu.Item leftSection={<IconPlayerPause size={16} />} onClick={pausesDialog.open}>
          Hold and release
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** How the board is shown, from the URL. Changing it keeps the filter. */
function useDisplay() {
  const [params, setParams] = useSearchParams();
  const display = readDisplay(params);
  const setDisplay = useCallback(
    (next: Display) => setParams(writeDisplay(currentParams(), next), { replace: true }),
    [setParams],
  );
  return { display, setDisplay };
}

const ICONS = { columns: IconColumns3, list: IconList, lanes: IconLayoutRows, graph: IconHierarchy } as const;

/** Chooses how the board is shown. V goes from one to the next. */
function DisplaySwitch({ hasStructure }: { hasStructure: boolean }) {
  const { display, setDisplay } = useDisplay();
  const shown = DISPLAYS.filter((one) => hasStructure || one === 'columns' || one === 'list' || one === display);
  const [params] = useSearchParams();
  useShortcuts({
    v: () => {
      if (document.querySelector('[role="dialog"], [role="menu"]') !== null) return false;
      setDisplay(shown[(shown.indexOf(display) + 1) % shown.length] ?? 'columns');
      return true;
    },
  });
  return (
    <nav className={css.displays} data-flat={!hasStructure || undefined} aria-label="Show the board as">
      {shown.map((one) => {
        const Icon = ICONS[one];
        return (
          <a
            key={one}
            className={css.display}
            href={withBase(`/?${writeDisplay(params, one)}`)}
            aria-current={one === display ? 'page' : undefined}
            title={`${DISPLAY_TEXTS[one]} (V for the next view)`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              setDisplay(one);
            }}
          >
            <Icon size={16} aria-hidden />
            <span>{DISPLAY_TEXTS[one]}</span>
          </a>
        );
      })}
    </nav>
  );
}
