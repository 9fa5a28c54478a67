import type { ProjectId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The conversations that were begun in a terminal. No event tells of them. */
export const conversationsQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['conversations', projectId],
    queryFn: ({ signal }) => client.command('get_conversations', { projectId }, { signal }),
    staleTime: 0,
  });
