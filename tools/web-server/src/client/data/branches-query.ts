import type { ProjectId } from '@callboard/contract';
import { queryOptions, skipToken } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The branches of a project's repository. */
export const branchesQuery = (projectId: ProjectId | undefined) =>
  queryOptions({
    queryKey: ['branches', projectId],
    queryFn:
      projectId === undefined ? skipToken : ({ signal }) => client.command('get_branches', { projectId }, { signal }),
    staleTime: 5_000,
  });
