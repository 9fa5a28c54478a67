import type { DiffQuery, FileDiff, StageDiff, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { type QueryClient, queryOptions, useQueryClient } from '@tanstack/react-query';
import { create } from 'zustand';
import { client } from '../lib/api-client.ts';

/** So many files of a change are read at once: to parse them all in one task would be felt. */
const FILES_AT_ONCE = 500;

interface Reading {
  client: QueryClient;
  queryKey: readonly unknown[];
  signal: AbortSignal;
}

/** Reads the files of a change, page by page. Between the same two moments they are those that were read before. */
async function readDiff(
  stageId: StageId,
  of: DiffQuery,
  { client: cache, queryKey, signal }: Reading,
): Promise<StageDiff> {
  const limit = FILES_AT_ONCE;
  const { diff } = await client.command('get_diff', { stageId, ...of, limit }, { signal });
  const { base, tree, files: first, total = first.length } = diff;
  const before = cache.getQueryData<StageDiff>(queryKey);
  if (before?.base === base && before.tree === tree && before.files.length === total)
    return { ...diff, files: before.files };
  const files = [...first];
  while (files.length < total) {
    const next = await client.command('get_diff', { stageId, base, tree, from: files.length, limit }, { signal });
    if (next.diff.files.length === 0) break;
    files.push(...next.diff.files);
  }
  return { ...diff, files };
}

/** A stage's changes when they were last loaded: no event reports a change of a file. */
export const stageDiffQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['diff', stageId],
    queryFn: (reading) => readDiff(stageId, {}, reading),
    staleTime: 0,
    structuralSharing: false, // comparing thousands of files would be felt
  });

/** A part of a stage's changes: what has changed since the last turn began, or in one commit. */
export const rangeDiffQuery = (stageId: StageId, range: string) =>
  queryOptions({
    queryKey: ['diff', stageId, range],
    queryFn: (reading) => readDiff(stageId, { range }, reading),
    staleTime: 0,
    structuralSharing: false,
  });

/** The contents of a binary file before and after. */
export const contentQuery = (stageId: StageId, { base, tree }: StageDiff, { path }: Pick<FileDiff, 'path'>) =>
  queryOptions({
    queryKey: ['content', stageId, base, tree, path],
    queryFn: ({ signal }) => client.command('get_diff_content', { stageId, path, base, tree }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000, // images are large
  });

export interface PatchPartOptions {
  path: string;
  /** With the whole file around the changes. */
  isWhole: boolean;
  /** Where the part begins, as the part before said; 0 for the first one. */
  from: number;
}

/** A part of the patch of one file, from the same moment as the list of files. */
export const patchPartQuery = (
  stageId: StageId,
  { base, tree }: Pick<StageDiff, 'base' | 'tree'>,
  { path, isWhole, from }: PatchPartOptions,
) =>
  queryOptions({
    queryKey: ['patch', stageId, base, tree, path, isWhole, from],
    queryFn: async ({ signal }) => {
      const part = { ...(isWhole && { context: 'whole' as const }), ...(from > 0 && { from }) };
      const { diff } = await client.command('get_diff', { stageId, path, base, tree, ...part }, { signal });
      const { patch = null, next = null, cut = [] } = diff.files[0] ?? {};
      return { patch, next, cut };
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
