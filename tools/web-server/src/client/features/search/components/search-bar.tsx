import { type BoardView, SearchKind } from '@callboard/contract';
import { CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { isComposing } from '../../../lib/is-composing.ts';
import { SEARCH_KIND_TEXTS } from '../../../lib/search-words.ts';
import { currentParams, useUrlText } from '../../../lib/use-url-text.ts';
import { readSearch, type SearchFilter, WHEN_TEXTS, writeSearch } from '../model/search-filter.ts';
import css from './search-page.module.css';
import { focusFirstResult } from './use-result-keys.ts';

const projectsOf = (view: BoardView) => view.projects.map(({ id, name }) => ({ value: String(id), label: name }));
const KINDS = SearchKind.options.map((kind) => ({ value: kind, label: SEARCH_KIND_TEXTS[kind] }));
const TIMES = Object.entries(WHEN_TEXTS).map(([value, label]) => ({ value, label }));

/** The words and the filters of the search. They are kept in the URL. */
export function SearchBar() {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: projectsOf });
  const [params, setParams] = useSearchParams();
  const filter = readSearch(params);
  const set = (change: Partial<SearchFilter>, options: NavigateOptions = { replace: true }) =>
    setParams(writeSearch({ ...readSearch(currentParams()), ...change }), options);
  const [text, type] = useUrlText(filter.q, (typed, options) => set({ q: typed }, options));
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const select = (name: 'project' | 'kind' | 'when', label: string, data: { value: string; label: string }[]) => (
    <NativeSelect
      size="xs"
      className={css.filter}
      aria-label={label}
      data={data}
      value={filter[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <search className={css.bar} aria-label="Search everything">
      <TextInput
        ref={field}
        className={css.field}
        aria-label="Search"
        placeholder="Search titles, prompts, transcripts and comments"
        data-shortcut="find"
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={text !== '' && <CloseButton size={24} aria-label="Empty the search" onClick={() => type('')} />}
        value={text}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent) || !['ArrowDown', 'Enter'].includes(event.key)) return;
          if (focusFirstResult()) event.preventDefault();
        }}
      />
      {(projects.length > 1 || filter.project !== '') &&
        select('project', 'Project', [{ value: '', label: 'All projects' }, ...projects])}
      {select('kind', 'Kind', [{ value: '', label: 'Everything' }, ...KINDS])}
      {select('when', 'Time', [{ value: '', label: 'Any time' }, ...TIMES])}
    </search>
  );
}
