import type { Login } from '@callboard/contract';
import { type QueryClient, queryOptions, skipToken } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The logged-in browsers. */
export const loginsQuery = queryOptions({
  queryKey: ['logins'],
  queryFn: ({ signal }) => client.command('get_logins', {}, { signal }),
});

/** Logins created while this page is open. */
export const newLoginsQuery = queryOptions<readonly Login[]>({
  queryKey: ['new-logins'],
  queryFn: skipToken, // filled by events only
  gcTime: Number.POSITIVE_INFINITY,
});

/** Adds a login that was just created. */
export function addNewLogin(cache: QueryClient, login: Login): void {
  cache.setQueryData(newLoginsQuery.queryKey, (old = []) => [...old, login]);
  void cache.invalidateQueries({ queryKey: loginsQuery.queryKey });
}

/** Removes a login that has ended. */
export function removeLogin(cache: QueryClient, ended: string): void {
  cache.setQueryData(newLoginsQuery.queryKey, (old) => old?.filter(({ loginId }) => loginId !== ended));
  cache.setQueryData(
    loginsQuery.queryKey,
    (old) => old && { ...old, logins: old.logins.filter(({ loginId }) => loginId !== ended) },
  );
}
