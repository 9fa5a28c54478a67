import type { BoardView, StageView } from '@callboard/contract';
import { Button, CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { createContext, memo, type ReactNode, use, useCallback, useDeferredValue, useEffect, useMemo } from 'react';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery, ownGroups } from '../../data/queries.ts';
import { currentParams } from '../../lib/hooks.ts';
import css from './board.module.css';

/** How the board shows its stages: in columns, as a list, in columns cut into lanes of one group each, or as a graph of dependencies. */
export type Display = 'columns' | 'list' | 'lanes' | 'graph';

/** In the order of the switch, and of the key that goes from one to the next. */
export const DISPLAYS: readonly Display[] = ['columns', 'list', 'lanes', 'graph'];

export const DISPLAY_TEXTS: Readonly<Record<Display, string>> = {
  columns: 'Columns',
  list: 'List',
  lanes: 'Groups',
  graph: 'Graph',
};

const NAME = 'view';

export const readDisplay = (params: URLSearchParams): Display =>
  DISPLAYS.find((display) => display === params.get(NAME)) ?? 'columns';

/** The URL's query with this display. The filter and everything else stays. */
export function writeDisplay(params: URLSearchParams, display: Display): URLSearchParams {
  const next = new URLSearchParams(params);
  if (display === 'columns') next.delete(NAME);
  else next.set(NAME, display);
  return next;
}

const choices = (view: BoardView) => ({
  groups: groupsOf(view.stages),
  projects: view.projects.map(({ id, name }) => ({ value: String(id), label: name })),
});

/** The fields of the board's filter. */
export const FilterBar = () => (
  <search className={css.filters} aria-label="Filter the board">
    <TextFilter />
    <OtherFilters />
  </search>
);

function TextFilter() {
  return <TextField {...useTypedFilter()} />;
}

/** Drawn once for each key that is typed. */
const TextField = memo(function TextField({ text, type, save }: ReturnType<typeof useTypedFilter>) {
  return (
    <TextInput
      size="xs"
      className={css.filterText}
      aria-label="Find stages"
      placeholder="Find by title, id or prompt  /"
      data-shortcut="find"
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={text !== '' && <CloseButton size={24} aria-label="Clear search" onClick={() => type('')} />}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === 'Escape') type('');
      }}
    />
  );
});

function OtherFilters() {
  const { filter, setFilter } = useBoardFilter();
  const { project, group } = filter;
  return (
    <>
      <Choices project={project} group={group} setFilter={setFilter} />
      {isFiltering(filter) && (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => {
            useBoardUi.getState().setTyped(null);
            setFilter({ project: '', group: '', text: '' });
          }}
        >
          Show all
        </Button>
      )}
    </>
  );
}

type ChoicesProps = Pick<BoardFilter, 'project' | 'group'> & Pick<ReturnType<typeof useBoardFilter>, 'setFilter'>;

/** Not drawn again for a key that is typed. */
const Choices = memo(function Choices({ project, group, setFilter }: ChoicesProps) {
  const { data } = useQuery({ ...boardQuery, select: choices });
  const { projects = [], groups = [] } = data ?? {};
  return (
    <>
      {(projects.length > 1 || project !== '') && (
        <NativeSelect
          size="xs"
          aria-label="Project"
          data={[{ value: '', label: 'All projects' }, ...projects]}
          value={project}
          onChange={(event) => setFilter({ project: event.currentTarget.value })}
        />
      )}
      {(groups.length > 0 || group !== '') && (
        <NativeSelect
          size="xs"
          aria-label="Group"
          data={[{ value: '', label: 'All groups' }, ...withChosen(groups, group)]}
          value={group}
          onChange={(event) => setFilter({ group: event.currentTarget.value })}
        />
      )}
    </>
  );
});

/** Adds the group from the URL, even if it has no stages. */
const withChosen = (groups: readonly string[], chosen: string): string[] =>
  chosen === '' || groups.includes(chosen) ? [...groups] : [chosen, ...groups];

interface BoardFiltering {
  filter: BoardFilter;
  /** Whether a stage matches the filter; the same function until the filter changes. */
  save: (stage: StageView) => boolean;
  setFilter: (change: Partial<BoardFilter>, options?: NavigateOptions) => void;
}

const Filtering = createContext<BoardFiltering | null>(null);
const BoardFilterContext = Filtering.Provider;

/** Reads the board's filter from the URL; its text may be a moment ahead of that. For the provider alone. */
function useFiltering(): BoardFiltering {
  const [params, setParams] = useSearchParams();
  const { project, group, text: inAddress } = readFilter(params);
  // A key that is typed is shown at once; the rows follow as soon as there is time.
  const text = useDeferredValue(useBoardUi((ui) => ui.typed) ?? inAddress);
  const setFilter = useCallback(
    (change: Partial<BoardFilter>, options: NavigateOptions = { replace: true }) => {
      const now = currentParams();
      setParams(writeFilter(now, { ...readFilter(now), ...change }), options);
    },
    [setParams],
  );
  return useMemo(() => {
    const filter = { project, group, text };
    return { filter, save: (stage) => matchesFilter(stage, filter), setFilter };
  }, [project, group, text, setFilter]);
}

/** The board's filter, below a `BoardFilterProvider`: whoever reads it is drawn once for a key that is typed, not twice. */
export function useBoardFilter(): BoardFiltering {
  const filtering = use(Filtering);
  if (filtering === null) throw new Error('There is no BoardFilterProvider above this part of the board.');
  return filtering;
}

/** The board's filter. It is part of the URL, so that it can be bookmarked and shared. */
export interface BoardFilter {
  project: string;
  group: string;
  text: string;
}

const NAMES = ['project', 'group', 'text'] as const;
/** The name of `group` in addresses of earlier versions. */
const EPIC = 'epic';

export const readFilter = (params: URLSearchParams): BoardFilter => ({
  project: params.get('project') ?? '',
  group: params.get('group') ?? params.get(EPIC) ?? '',
  text: params.get('text') ?? '',
});

/** The URL's query with this filter. Other parameters stay. */
export function writeFilter(params: URLSearchParams, filter: BoardFilter): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete(EPIC);
  for (const name of NAMES) {
    if (filter[name] === '') next.delete(name);
    else next.set(name, filter[name]);
  }
  return next;
}

export const isFiltering = (filter: BoardFilter): boolean => NAMES.some((name) => filter[name].trim() !== '');

export function matchesFilter(stage: StageView, { project, group, text }: BoardFilter): boolean {
  if (project !== '' && stage.projectId !== project) return false;
  if (group !== '' && stage.group !== group && !isOfEpic(stage.id, group)) return false;
  const wanted = text.trim().toLowerCase();
  return wanted === '' || [stage.title, stage.id, stage.prompt].some((part) => part.toLowerCase().includes(wanted));
}

const isOfEpic = (id: string, epic: string) => id === epic || id.startsWith(`${epic}-`);

/** What the stages can be filtered by: the groups that people gave them, and the common prefixes of imported ids. */
export function groupsOf(stages: readonly StageView[]): string[] {
  const own = ownGroups({ stages: [...stages] });
  return [...own, ...epicsOf(stages).filter((epic) => !own.includes(epic))];
}

/** The epics of imported ids, their common prefixes: `STAGE-001` and `STAGE-001-002` of `STAGE-001-002-003`. */
function epicsOf(stages: readonly Pick<StageView, 'id'>[]): string[] {
  const epics = new Set<string>();
  for (const { id } of stages) {
    const [, word, numbers] = /^([A-Za-z]\w*)((?:-\d+){2,})$/.exec(id) ?? [];
    const parts = numbers?.split('-').slice(1, -1) ?? [];
    for (let length = 1; length <= parts.length; length += 1) epics.add([word, ...parts.slice(0, length)].join('-'));
  }
  return [...epics].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

/** The address follows once nothing was typed for this long: a change of it draws the whole page again. */
const REST_MS = 200;

/** The text that the board is filtered by, as it is typed. Leaving the field writes it to the address at once. */
function useTypedFilter() {
  const { filter, setFilter } = useBoardFilter();
  const typed = useBoardUi((ui) => ui.typed);
  const save = useCallback(() => {
    const { typed: text, setTyped } = useBoardUi.getState();
    if (text === null) return;
    setFilter({ text });
    setTyped(null);
  }, [setFilter]);
  useEffect(() => {
    if (typed === null) return;
    const timer = setTimeout(save, REST_MS);
    return () => clearTimeout(timer);
  }, [typed, save]);
  useEffect(() => () => useBoardUi.getState().setTyped(null), []);
  return { text: typed ?? filter.text, type: useBoardUi.getState().setTyped, save };
}

/** Gives the board's filter to everything below it. Of what is below, only what reads the filter is drawn again for a change. */
export const BoardFilterProvider = ({ children }: { children: ReactNode }) => (
  <BoardFilterContext value={useFiltering()}>{children}</BoardFilterContext>
);
