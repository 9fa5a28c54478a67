import { commands, type DecisionFilter } from '@callboard/contract';
import { infiniteQueryOptions, type QueryClient } from '@tanstack/react-query';
import { call } from '../lib/api.ts';

const KEY = 'decisions';
const PAGE = 100;

/** The query of the log's address, for a page as for a file. */
export function logParams(filter: DecisionFilter): URLSearchParams {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

/** The decision log in pages, newest first. */
export const decisionLogQuery = (filter: DecisionFilter) =>
  infiniteQueryOptions({
    queryKey: [KEY, filter],
    initialPageParam: filter.before,
    queryFn: ({ pageParam, signal }) =>
      call(`/api/decisions?${logParams({ ...filter, before: pageParam, limit: PAGE })}`, {
        reply: commands.get_decisions.reply,
        signal,
      }),
    getNextPageParam: ({ next }) => next ?? undefined,
  });

/** Something was decided, or delivered: what is shown of the log is read again. */
export const refreshDecisionLog = (cache: QueryClient): void => void cache.invalidateQueries({ queryKey: [KEY] });
