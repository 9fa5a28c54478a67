import { MutationCache, QueryClient } from '@tanstack/react-query';
import { boardQuery } from '../data/queries.ts';
import { isLoggedOut, isTransient } from '../lib/api-client.ts';

export function createQueryClient(): QueryClient {
  const cache: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        // The event stream keeps everything fresh.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // The server is on this machine, whatever the browser thinks of the network.
        networkMode: 'always',
        retry: (_failures, error) => isTransient(error),
        retryDelay: (failures) => Math.min(250 * 2 ** failures, 2_000),
      },
      // A command is given once: whether it arrived is for the server to say.
      mutations: { networkMode: 'always', retry: false },
    },
    mutationCache: new MutationCache({
      // Loading the board anew finds out whether the login is gone.
      onError: (error) => {
        if (isLoggedOut(error)) void cache.invalidateQueries({ queryKey: boardQuery.queryKey });
      },
    }),
  });
  return cache;
}
