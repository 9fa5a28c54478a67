import type { BoardView, SearchResult } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useDeferredValue, useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { searchQuery } from '../../../data/search-query.ts';
import { indexingText, locationText, resultKey, resultPath, resultText } from '../../../lib/search-words.ts';
import { useNow } from '../../../lib/use-now.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MarkedText } from '../../../ui/marked-text.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { groupResults, type ResultGroup } from '../model/group-results.ts';
import { isNarrowed, readSearch, type SearchFilter, toSearchQuery } from '../model/search-filter.ts';
import { SearchBar } from './search-bar.tsx';
import css from './search-page.module.css';
import { useResultKeys } from './use-result-keys.ts';

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
    <div className={css.page}>
      <h1 className="visually-hidden">Search</h1>
      <SearchBar />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard */}
      <section className={css.scroll} aria-label="Results" aria-busy={search.isFetching} tabIndex={0}>
        <p className={css.state} role="status">
          {indexing ?? <span className="visually-hidden">{countText(isAsked, search.isFetching, results.length)}</span>}
        </p>
        {isAsked && search.error !== null && (
          <ErrorNote lead="The search failed." error={search.error} retry={() => void search.refetch()} />
        )}
        {!isAsked && (
          <p className={css.none}>Finds words in titles, prompts, transcripts, decisions and comments of all stages.</p>
        )}
        {isAsked && search.isSuccess && !search.isPlaceholderData && results.length === 0 && (
          <Nothing filter={filter} />
        )}
        <Groups results={results} />
        {isAsked && search.hasNextPage && (
          <Button
            className={css.more}
            variant="default"
            loading={search.isFetchingNextPage}
            onClick={() => void search.fetchNextPage()}
          >
            Show more
          </Button>
        )}
      </section>
    </div>
  );
}

function countText(isAsked: boolean, isFetching: boolean, shown: number): string {
  if (!isAsked || isFetching) return '';
  return shown === 1 ? '1 result' : `${shown} results shown`;
}

function Nothing({ filter }: { filter: SearchFilter }) {
  return (
    <p className={css.none}>
      No results for <b className={css.asked}>{filter.q}</b>
      {isNarrowed(filter) ? ' with these filters' : ''}
      <span className={css.hint}>All words must occur in one text. "Words in quotes" stand together.</span>
    </p>
  );
}

const stagesById = (view: BoardView) => ({
  stages: new Map(view.stages.map((stage) => [stage.id, stage])),
  projects: new Map(view.projects.map(({ id, name }) => [id, name])),
});

function Groups({ results }: { results: readonly SearchResult[] }) {
  const { data: board } = useQuery({ ...boardQuery, select: stagesById });
  const groups = useMemo(() => groupResults(results), [results]);
  return (
    <ol className={css.groups}>
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
    <li className={css.group}>
      <h2 className={css.stage}>
        <ProjectMark name={project} />
        {found === undefined ? (
          <span className={css.title}>{title}</span>
        ) : (
          <Link className={css.title} to={resultPath(found)} data-result data-kind="title">
            <MarkedText text={title} marks={marksOfTitle(found, title)} />
          </Link>
        )}
        <StageIdText id={group.stageId} />
      </h2>
      <ul className={css.results}>
        {others.map((result) => (
          <li key={resultKey(result)}>
            <Link className={css.result} to={resultPath(result)} data-result data-kind={result.kind}>
              <span className={css.kind}>{resultText(result)}</span>
              <span className={css.snippet}>
                {locationText(result) !== null && <span className={css.place}>{locationText(result)}</span>}
                <MarkedText text={result.snippet} marks={result.marks} />
              </span>
              <span className={css.when}>
                <TimeSince at={result.at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </li>
  );
}

/** The text of a title goes on with the stage's id and group, which stand elsewhere. */
const marksOfTitle = ({ snippet, marks }: SearchResult, title: string) =>
  snippet.startsWith(title) ? marks.filter(([, to]) => to <= title.length) : [];
