import type { StageDiff, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { client } from '../../../lib/api-client.ts';

/** A stage's changes when they were last loaded: no event reports a change of a file. */
export const stageDiffQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['diff', stageId],
    queryFn: async ({ signal }) => (await client.command('get_diff', { stageId }, { signal })).diff,
    staleTime: 0,
  });

/** The patch of one file, from the same moment as the list of files. */
export const filePatchQuery = (stageId: StageId, { base, tree }: StageDiff, path: string) =>
  queryOptions({
    queryKey: ['patch', stageId, base, tree, path],
    queryFn: async ({ signal }) => {
      const { diff } = await client.command('get_diff', { stageId, path, base, tree }, { signal });
      return diff.files[0]?.patch ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** Whether the changes a person was shown are outdated. */
export const isOutdated = (error: unknown): boolean => error instanceof TransportError && error.code === 'head_moved';

/** Returns a function that reloads a stage's changes. */
export function useReloadDiff(stageId: StageId): () => void {
  const queryClient = useQueryClient();
  return () => void queryClient.invalidateQueries(stageDiffQuery(stageId));
}
