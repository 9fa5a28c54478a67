import type { SearchQuery } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import { client, isTransient } from '../lib/api-client.ts';

/** While the index is built, more is found all the time. */
const AGAIN_MS = 1_000;

const MAX_TRIES = 2;

const isUnavailable = (error: Error) => error instanceof TransportError && error.code === 'search_unavailable';

/** What is found, in pages. No event says that there is more to find, so an answer is soon out of date. */
export const searchQuery = (query: SearchQuery) =>
  infiniteQueryOptions({
    queryKey: ['search', query],
    initialPageParam: query.before,
    queryFn: ({ pageParam, signal }) => client.command('search', { ...query, before: pageParam }, { signal }),
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 0,
    // The page says so, and the person tries again.
    retry: (failures, error) => isTransient(error) && (failures < MAX_TRIES || !isUnavailable(error)),
    refetchInterval: ({ state }) => (state.data?.pages.at(-1)?.indexing ? AGAIN_MS : false),
  });
