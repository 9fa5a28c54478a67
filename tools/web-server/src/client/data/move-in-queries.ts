import type { ProjectId } from '@callboard/contract';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The conversations that were begun in a terminal. No event tells of them. */
export const conversationsQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['conversations', projectId],
    queryFn: ({ signal }) => client.command('get_conversations', { projectId }, { signal }),
    staleTime: 0,
  });

/** Open issues of the code host, found by words and a label. */
export const issuesQuery = (projectId: ProjectId, { q, label }: { q: string; label: string }) =>
  queryOptions({
    queryKey: ['issues', projectId, q, label],
    queryFn: ({ signal }) =>
      client.command('get_issues', { projectId, ...(q !== '' && { q }), ...(label !== '' && { label }) }, { signal }),
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
