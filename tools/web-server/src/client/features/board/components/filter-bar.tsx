import type { BoardView } from '@callboard/contract';
import { Button, CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useBoardFilter } from '../api/use-board-filter.ts';
import { useTypedFilter } from '../api/use-typed-filter.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { type BoardFilter, groupsOf, isFiltering } from '../model/filter.ts';
import css from './board.module.css';

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
