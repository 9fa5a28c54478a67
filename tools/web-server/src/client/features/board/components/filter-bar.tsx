import type { BoardView } from '@callboard/contract';
import { Button, CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { useBoardFilter } from '../api/use-board-filter.ts';
import { useTypedFilter } from '../api/use-typed-filter.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { groupsOf, isFiltering } from '../model/filter.ts';
import css from './board.module.css';

const choices = (view: BoardView) => ({
  groups: groupsOf(view.stages),
  projects: view.projects.map(({ id, name }) => ({ value: String(id), label: name })),
});

/** The fields of the board's filter. */
export function FilterBar() {
  const { data } = useQuery({ ...boardQuery, select: choices });
  const { filter, setFilter } = useBoardFilter();
  const { text, type, keep } = useTypedFilter();
  const { projects = [], groups = [] } = data ?? {};
  return (
    <search className={css.filters} aria-label="Filter the board">
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
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key === 'Escape') type('');
        }}
      />
      {(projects.length > 1 || filter.project !== '') && (
        <NativeSelect
          size="xs"
          aria-label="Project"
          data={[{ value: '', label: 'All projects' }, ...projects]}
          value={filter.project}
          onChange={(event) => setFilter({ project: event.currentTarget.value })}
        />
      )}
      {(groups.length > 0 || filter.group !== '') && (
        <NativeSelect
          size="xs"
          aria-label="Group"
          data={[{ value: '', label: 'All groups' }, ...withChosen(groups, filter.group)]}
          value={filter.group}
          onChange={(event) => setFilter({ group: event.currentTarget.value })}
        />
      )}
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
    </search>
  );
}

/** Adds the group from the URL, even if it has no stages. */
const withChosen = (groups: readonly string[], chosen: string): string[] =>
  chosen === '' || groups.includes(chosen) ? [...groups] : [chosen, ...groups];
