import { MutationCache, QueryClient } from '@tanstack/react-query';
import { boardQuery } from '../data/queries.ts';
import { isLoggedOut, isTransient } from '../lib/api-client.ts';

export function createQueryClient(): QueryClient {
  const cache: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        // The event stream keeps everything up to date.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // The server runs on this machine, whatever the browser thinks of the network.
        networkMode: 'always',
        retry: (_failures, error) => isTransient(error),
        retryDelay: (failures) => Math.min(250 * 2 ** failures, 2_000),
      },
      // A command is sent once: only the server knows whether it arrived.
      mutations: { networkMode: 'always', retry: false },
    },
    mutationCache: new MutationCache({
      // Reloading the board shows whether the login has ended.
      onError: (error) => {
        if (isLoggedOut(error)) void cache.invalidateQueries({ queryKey: boardQuery.queryKey });
      },
    }),
  });
  return cache;
}
