import type { ProjectId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api.ts';

/** What was allowed for good in a project, and the allow rules that its repository has of its own. */
export const rulesQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['rules', projectId],
    queryFn: ({ signal }) => client.command('get_rules', { projectId }, { signal }),
  });
