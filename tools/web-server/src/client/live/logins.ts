import type { Login } from '@callboard/contract';
import { type QueryClient, queryOptions, skipToken } from '@tanstack/react-query';
import { client } from '../lib/api.ts';

/** The browsers that are logged in. */
export const loginsQuery = queryOptions({
  queryKey: ['logins'],
  queryFn: ({ signal }) => client.command('get_logins', {}, { signal }),
});

/** The logins that were made while this page was open. */
export const newLoginsQuery = queryOptions<readonly Login[]>({
  queryKey: ['new-logins'],
  queryFn: skipToken, // events alone fill it
  gcTime: Number.POSITIVE_INFINITY,
});

export function takeNewLogin(cache: QueryClient, login: Login): void {
  cache.setQueryData(newLoginsQuery.queryKey, (old = []) => [...old, login]);
  void cache.invalidateQueries({ queryKey: loginsQuery.queryKey });
}

export function dropLogin(cache: QueryClient, ended: string): void {
  cache.setQueryData(newLoginsQuery.queryKey, (old) => old?.filter(({ loginId }) => loginId !== ended));
  cache.setQueryData(
    loginsQuery.queryKey,
    (old) => old && { ...old, logins: old.logins.filter(({ loginId }) => loginId !== ended) },
  );
}
