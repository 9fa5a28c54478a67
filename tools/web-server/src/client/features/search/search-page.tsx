import {
  type BoardView,
  ProjectId,
  SearchKind,
  type SearchQuery,
  type SearchResult,
  type StageId,
} from '@callboard/contract';
import { Anchor, Box, Button, CloseButton, Flex, NativeSelect, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useMemo, useRef } from 'react';
import { Link, type NavigateOptions, useSearchParams } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import {
  indexingText,
  locationText,
  resultKey,
  resultPath,
  resultText,
  SEARCH_KIND_TEXTS,
  searchQuery,
} from '../../data/search.ts';
import { currentParams, useNow, useUrlText } from '../../lib/hooks.ts';
import { ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Empty, FullPage, Hint, Scroll, Toolbar } from '../../ui/primitives.tsx';
import { isComposing, isTextField, useLetterKeys, useTopLayer } from '../../ui/shortcuts.tsx';
import { MarkedText, TimeSince } from '../../ui/text.tsx';
import css from './search-page.module.css';

/** Finds words in titles, prompts, transcripts and comments of all stages. What is looked for is in the URL. */
export default function SearchPage() {
  const [params] = useSearchParams();
  const filter = useDeferredValue(readSearch(params));
  const hour = Math.floor(useNow() / 3_600_000) * 3_600_000;
  const query = toSearchQuery(filter, hour);
  const isAsked = query.q.trim() !== '';
  const search = useInfiniteQuery({ ...searchQuery(query), enabled: isAsked });
  useResultKeys();
  const pages = isAsked ? (search.data?.pages ?? []) : [];
  const results = pages.flatMap((page) => page.results);
  const indexing = indexingText(pages.at(-1)?.indexing);
  return (
    <FullPage>
      <h1 className="visually-hidden">Search</h1>
      <SearchBar />
      <Scroll aria-label="Results" aria-busy={search.isFetching}>
        <Hint size="xs" role="status" p={indexing === null ? 0 : '8px 16px'}>
          {indexing ?? <span className="visually-hidden">{countText(isAsked, search.isFetching, results.length)}</span>}
        </Hint>
        {isAsked && search.error !== null && (
          <ErrorNote lead="The search failed." error={search.error} retry={() => void search.refetch()} />
        )}
        {!isAsked && <Empty>Finds words in titles, prompts, transcripts, decisions and comments of all stages.</Empty>}
        {isAsked && search.isSuccess && !search.isPlaceholderData && results.length === 0 && (
          <Nothing filter={filter} />
        )}
        <Groups pages={pages} />
        {isAsked && search.hasNextPage && (
          <Button
            display="block"
            mx="auto"
            my="md"
            variant="default"
            loading={search.isFetchingNextPage}
            onClick={() => void search.fetchNextPage()}
          >
            Show more
          </Button>
        )}
      </Scroll>
    </FullPage>
  );
}

function countText(isAsked: boolean, isFetching: boolean, shown: number): string {
  if (!isAsked || isFetching) return '';
  return shown === 1 ? '1 result' : `${shown} results shown`;
}

function Nothing({ filter }: { filter: SearchFilter }) {
  return (
    <Empty>
      No results for{' '}
      <Text span inherit c="var(--text)" fw={500}>
        {filter.q}
      </Text>
      {isNarrowed(filter) ? ' with these filters' : ''}
      <Text span display="block" size="xs" mt="sm">
        All words must occur in one text. "Words in quotes" stand together.
      </Text>
    </Empty>
  );
}

const stagesById = (view: BoardView) => ({
  stages: new Map(view.stages.map((stage) => [stage.id, stage])),
  projects: new Map(view.projects.map(({ id, name }) => [id, name])),
});

function Groups({ pages }: { pages: readonly { results: readonly SearchResult[] }[] }) {
  const { data: board } = useQuery({ ...boardQuery, select: stagesById });
  const groups = useMemo(() => pages.flatMap(({ results }) => groupResults(results)), [pages]);
  return (
    <ol>
      {groups.map((group) => {
        const stage = board?.stages.get(group.stageId);
        // Deleted a moment ago.
        if (stage === undefined) return null;
        const project = board?.projects.get(stage.projectId) ?? stage.projectId;
        const first = group.results[0];
        return (
          <Group
            key={`${group.stageId} ${first && resultKey(first)}`}
            group={group}
            title={stage.title}
            project={project}
          />
        );
      })}
    </ol>
  );
}

function Group({ group, title, project }: { group: ResultGroup; title: string; project: string }) {
  const found = group.results.find(({ kind }) => kind === 'title');
  const others = group.results.filter((result) => result !== found);
  return (
    <Box component="li" py="sm" style={{ borderBottom: '1px solid var(--line)' }}>
      <Flex
        component="h2"
        className={css.stage}
        align="center"
        gap="sm"
        px="lg"
        mih="max(24px, var(--touch))"
        fz="row"
        fw={500}
      >
        <ProjectMark name={project} />
        {found === undefined ? (
          <span className="truncate">{title}</span>
        ) : (
          <Anchor
            component={Link}
            truncate
            c="var(--text)"
            style={{ outline: 0 }}
            to={resultPath(found)}
            data-result
            data-kind="title"
          >
            <MarkedText text={title} marks={marksOfTitle(found, title)} />
          </Anchor>
        )}
        <StageIdText id={group.stageId} />
      </Flex>
      <ul>
        {others.map((result) => (
          <li key={resultKey(result)}>
            <Link className={css.result} to={resultPath(result)} data-result data-kind={result.kind}>
              <Text span inherit truncate>
                {resultText(result)}
              </Text>
              <Text span inherit c="var(--text)" lineClamp={2}>
                {locationText(result) !== null && (
                  <Text span inherit c="dimmed" ff="monospace" fz="xs" mr="sm">
                    {locationText(result)}
                  </Text>
                )}
                <MarkedText text={result.snippet} marks={result.marks} isMarkdown={result.kind === 'text'} />
              </Text>
              <span>
                <TimeSince at={result.at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Box>
  );
}

/** The text of a title goes on with the stage's id and group, which stand elsewhere. */
const marksOfTitle = ({ snippet, marks }: SearchResult, title: string) =>
  snippet.startsWith(title) ? marks.filter(([, to]) => to <= title.length) : [];

export interface ResultGroup {
  stageId: StageId;
  results: SearchResult[];
}

/** Puts the results of each stage under one heading, where its best one stands. Of one page: further ones move nothing. */
const groupResults = (results: readonly SearchResult[]): ResultGroup[] =>
  [...Map.groupBy(results, ({ stageId }) => stageId)].map(([stageId, own]) => ({ stageId, results: own }));

const NAMES = ['q', 'project', 'kind', 'when'] as const;

/** A search as written in the URL. An empty value means all. */
export type SearchFilter = Record<(typeof NAMES)[number], string>;

const HOUR_MS = 3_600_000;
/** How far back each choice goes, in days. */
const DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };

const WHEN_TEXTS: Readonly<Record<string, string>> = {
  day: 'Last 24 hours',
  week: 'Last 7 days',
  month: 'Last 30 days',
};

function readSearch(params: URLSearchParams): SearchFilter {
  const filter: SearchFilter = { q: '', project: '', kind: '', when: '' };
  for (const name of NAMES) filter[name] = params.get(name) ?? '';
  return filter;
}

const writeSearch = (filter: SearchFilter): URLSearchParams =>
  new URLSearchParams(NAMES.filter((name) => filter[name] !== '').map((name) => [name, filter[name]]));

/** Whether anything narrows the search. */
const isNarrowed = ({ project, kind, when }: SearchFilter): boolean => project + kind + when !== '';

const MAX = 1_000;

/** Returns the server's query. Invalid values in the URL are left out. A time counts from a whole hour, so that it stays the same for a while. */
function toSearchQuery({ q, project, kind, when }: SearchFilter, now: number): SearchQuery {
  const days = DAYS[when];
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  return {
    q: q.slice(0, MAX),
    projectId: ProjectId.safeParse(project).data,
    kind: SearchKind.safeParse(kind).data,
    since: days === undefined ? undefined : new Date(hour - days * 24 * HOUR_MS).toISOString(),
    limit: 50,
  };
}

const projectsOf = (view: BoardView) => view.projects.map(({ id, name }) => ({ value: String(id), label: name }));
const KINDS = SearchKind.options.map((kind) => ({ value: kind, label: SEARCH_KIND_TEXTS[kind] }));
const TIMES = Object.entries(WHEN_TEXTS).map(([value, label]) => ({ value, label }));

/** The words and the filters of the search. They are kept in the URL. */
function SearchBar() {
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
      maw={200}
      size="xs"
      aria-label={label}
      data={data}
      value={filter[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <Toolbar role="search" aria-label="Search everything">
      <TextInput
        ref={field}
        flex="1 1 320px"
        maw={640}
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
    </Toolbar>
  );
}

const STEPS: Readonly<Record<string, number>> = { j: 1, arrowdown: 1, k: -1, arrowup: -1 };
const resultLinks = () => [...document.querySelectorAll<HTMLElement>('a[data-result]')];

/** Moves the focus to the first result. Returns whether there is one. */
function focusFirstResult(): boolean {
  const [first] = resultLinks();
  first?.focus();
  return first !== undefined;
}

/** J, K and the arrow keys move along the results; Enter follows the link. Up from the first one goes back to the words. */
function useResultKeys(): void {
  const isCovered = useTopLayer() !== 'page';
  useEffect(() => {
    if (isCovered) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase();
      const step = STEPS[key];
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
      if (step === undefined || !isPlain || event.defaultPrevented || isTextField(event.target)) return;
      if (key.length === 1 && !useLetterKeys.getState().on) return;
      const links = resultLinks();
      const at = links.findIndex((link) => link.matches(':focus'));
      if (at === 0 && step === -1) document.querySelector<HTMLElement>('[data-shortcut="find"]')?.focus();
      else links[at === -1 ? 0 : at + step]?.focus();
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isCovered]);
}
