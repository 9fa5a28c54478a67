import type { FileDiff, StageDiff, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { create } from 'zustand';
import { client } from '../lib/api-client.ts';

/** A stage's changes when they were last loaded: no event reports a change of a file. */
export const stageDiffQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['diff', stageId],
    queryFn: async ({ signal }) => (await client.command('get_diff', { stageId }, { signal })).diff,
    staleTime: 0,
  });

/** A part of a stage's changes: what has changed since the last turn began, or in one commit. */
export const rangeDiffQuery = (stageId: StageId, range: string) =>
  queryOptions({
    queryKey: ['diff', stageId, range],
    queryFn: async ({ signal }) => (await client.command('get_diff', { stageId, range }, { signal })).diff,
    staleTime: 0,
  });

/** The contents of a binary file before and after. */
export const contentQuery = (stageId: StageId, { base, tree }: StageDiff, { path }: Pick<FileDiff, 'path'>) =>
  queryOptions({
    queryKey: ['content', stageId, base, tree, path],
    queryFn: ({ signal }) => client.command('get_diff_content', { stageId, path, base, tree }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000, // images are large
  });

/** The patch of one file, from the same moment as the list of files; with the whole file around the changes on demand. */
export const filePatchQuery = (stageId: StageId, { base, tree }: StageDiff, path: string, isWhole = false) =>
  queryOptions({
    queryKey: ['patch', stageId, base, tree, path, isWhole],
    queryFn: async ({ signal }) => {
      const context = isWhole ? { context: 'whole' as const } : {};
      const { diff } = await client.command('get_diff', { stageId, path, base, tree, ...context }, { signal });
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
  // Those of ranges too.
  return () => void queryClient.invalidateQueries({ queryKey: stageDiffQuery(stageId).queryKey });
}

interface ShownChanges {
  /** By stage: the end of its changes that this tab had on screen last. */
  shown: Readonly<Record<string, Pick<StageDiff, 'head' | 'tree'>>>;
  show(stageId: string, diff: StageDiff): void;
}

/** What a person was shown. What was read for them and arrived when they had left is not. */
export const useShownChanges = create<ShownChanges>((set) => ({
  shown: {},
  show: (stageId, { head, tree }) => set(({ shown }) => ({ shown: { ...shown, [stageId]: { head, tree } } })),
}));
