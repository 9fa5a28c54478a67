import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { decisionLogQuery } from '../../../data/queries.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { isFiltering, readLogFilter, toQuery } from '../model/log-filter.ts';
import css from './decision-log.module.css';
import { DecisionRow } from './decision-row.tsx';
import { ExportButton } from './export-button.tsx';
import { LogFilters } from './log-filters.tsx';

/** Every ended request: who decided what and when, how long Claude waited, and how the answer arrived. */
export default function DecisionLog() {
  const [params] = useSearchParams();
  const filter = readLogFilter(params);
  const log = useInfiniteQuery(decisionLogQuery(toQuery(filter)));
  const decisions = log.data?.pages.flatMap((page) => page.decisions) ?? [];
  const devices = [...new Set(decisions.flatMap(({ device }) => device ?? []))].sort();
  return (
    <div className={css.page}>
      <div className={css.top}>
        <h1 className={css.head}>Decisions</h1>
        <div className={css.files}>
          <ExportButton filter={toQuery(filter)} format="csv">
            Export CSV
          </ExportButton>
          <ExportButton filter={toQuery(filter)} format="jsonl">
            Export JSON Lines
          </ExportButton>
        </div>
      </div>
      <LogFilters filter={filter} devices={devices} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard */}
      <section className={css.scroll} aria-label="Decision log" aria-busy={log.isFetching} tabIndex={0}>
        {log.error !== null && (
          <ErrorNote lead="The log could not be read." error={log.error} retry={() => void log.refetch()} />
        )}
        {log.isSuccess && decisions.length === 0 && (
          <p className={css.none}>
            {isFiltering(filter)
              ? 'No decision matches these filters.'
              : 'No decisions yet. Every answer to Claude is listed here, with who gave it.'}
          </p>
        )}
        <ol className={css.list}>
          {decisions.map((decision) => (
            <DecisionRow key={requestKey(decision)} decision={decision} />
          ))}
        </ol>
        {log.hasNextPage && (
          <Button
            className={css.more}
            variant="default"
            loading={log.isFetchingNextPage}
            onClick={() => void log.fetchNextPage()}
          >
            Show older
          </Button>
        )}
      </section>
    </div>
  );
}
