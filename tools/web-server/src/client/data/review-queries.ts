import type { StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
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
