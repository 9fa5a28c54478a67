import { commands, type StageDiff, type StageId } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { ApiError, call } from '../../../lib/api.ts';

const fetchDiff = async (stageId: StageId, query: Record<string, string>, signal: AbortSignal): Promise<StageDiff> => {
  const search = new URLSearchParams(query);
  const path = `/api/stages/${stageId}/diff${search.size === 0 ? '' : `?${search}`}`;
  return (await call(path, { reply: commands.get_diff.reply, signal })).diff;
};

/** What a stage has changed, as it was when it was last looked at: nothing tells when a file changes. */
export const stageDiffQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['diff', stageId],
    queryFn: ({ signal }) => fetchDiff(stageId, {}, signal),
    staleTime: 0,
  });

/** The patch of one file, of the very moment that the list of files shows. */
export const filePatchQuery = (stageId: StageId, { base, tree }: StageDiff, path: string) =>
  queryOptions({
    queryKey: ['patch', stageId, base, tree, path],
    queryFn: async ({ signal }) => (await fetchDiff(stageId, { path, base, tree }, signal)).files[0]?.patch ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** What a person was shown of a stage's changes is no longer so. */
export const isMoved = (error: unknown): boolean => error instanceof ApiError && error.code === 'head_moved';

/** Looks at a stage's changes again. */
export function useLookAgain(stageId: StageId): () => void {
  const queryClient = useQueryClient();
  return () => void queryClient.invalidateQueries(stageDiffQuery(stageId));
}
