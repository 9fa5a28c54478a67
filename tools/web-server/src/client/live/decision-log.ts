import type { DecisionFilter } from '@callboard/contract';
import { infiniteQueryOptions, type QueryClient } from '@tanstack/react-query';
import { client } from '../lib/api.ts';

const KEY = 'decisions';
const PAGE = 100;

/** The decision log in pages, newest first. */
export const decisionLogQuery = (filter: DecisionFilter) =>
  infiniteQueryOptions({
    queryKey: [KEY, filter],
    initialPageParam: filter.before,
    queryFn: ({ pageParam, signal }) =>
      client.command('get_decisions', { ...filter, before: pageParam, limit: PAGE }, { signal }),
    getNextPageParam: ({ next }) => next ?? undefined,
  });

/** Something was decided, or delivered: what is shown of the log is read again. */
export const refreshDecisionLog = (cache: QueryClient): void => void cache.invalidateQueries({ queryKey: [KEY] });
