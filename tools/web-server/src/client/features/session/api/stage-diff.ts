import { commands, type StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../../lib/api.ts';

/** What a stage has changed, as it was when it was last looked at: nothing tells when a file changes. */
export const stageDiffQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['diff', stageId],
    queryFn: async ({ signal }) =>
      (await call(`/api/stages/${stageId}/diff`, { reply: commands.get_diff.reply, signal })).diff,
    staleTime: 0,
  });
