import type { SideRun, StageId } from '@callboard/contract';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The comments on a stage's changes: all that were sent, findings, and this person's drafts. */
export const commentsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['comments', stageId],
    queryFn: async ({ signal }) => (await client.command('get_comments', { stageId }, { signal })).comments,
  });

/** By path: the version of the file that this person ticked as viewed. */
export const viewedQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['viewed', stageId],
    queryFn: async ({ signal }) => (await client.command('get_viewed', { stageId }, { signal })).viewed,
  });

/** What Claude was asked beside the conversation, newest first. */
export const sideRunsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['side-runs', stageId],
    queryFn: async ({ signal }) => (await client.command('get_side_runs', { stageId }, { signal })).runs,
  });

/** Takes over what became of a run. */
export const applySideRun = (cache: QueryClient, run: SideRun): void =>
  void cache.setQueryData(sideRunsQuery(run.stageId).queryKey, (old) => {
    if (old === undefined) return old;
    const isKnown = old.some(({ id }) => id === run.id);
    return isKnown ? old.map((one) => (one.id === run.id ? run : one)) : [run, ...old];
  });
