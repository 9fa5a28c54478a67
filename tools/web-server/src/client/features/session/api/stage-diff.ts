import type { StageDiff, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { client } from '../../../lib/api-client.ts';

/** What a stage has changed, as it was when it was last looked at: nothing tells when a file changes. */
export const stageDiffQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['diff', stageId],
    queryFn: async ({ signal }) => (await client.command('get_diff', { stageId }, { signal })).diff,
    staleTime: 0,
  });

/** The patch of one file, of the very moment that the list of files shows. */
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

/** What a person was shown of a stage's changes is no longer so. */
export const isMoved = (error: unknown): boolean => error instanceof TransportError && error.code === 'head_moved';

/** Looks at a stage's changes again. */
export function useLookAgain(stageId: StageId): () => void {
  const queryClient = useQueryClient();
  return () => void queryClient.invalidateQueries(stageDiffQuery(stageId));
}
