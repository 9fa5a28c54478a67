import { commands, type Login } from '@callboard/contract';
import { type QueryClient, queryOptions, skipToken } from '@tanstack/react-query';
import { call } from '../lib/api.ts';

/** The browsers that are logged in. */
export const loginsQuery = queryOptions({
  queryKey: ['logins'],
  queryFn: ({ signal }) => call('/api/logins', { reply: commands.get_logins.reply, signal }),
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
