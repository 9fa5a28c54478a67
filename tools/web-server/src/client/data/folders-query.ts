import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The folders within a folder of Callboard's machine; undefined for the home folder. */
export const foldersQuery = (path: string | undefined) =>
  queryOptions({
    queryKey: ['folders', path],
    queryFn: ({ signal }) => client.command('list_folders', path === undefined ? {} : { path }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 5_000,
    retry: false,
  });
