import type { Attachment, StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

/** The content of a file of the stage's first message. It never changes. */
export const attachmentQuery = (stageId: StageId, fileId: string) =>
  queryOptions({
    queryKey: ['attachment', stageId, fileId],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Attachment> =>
      (await client.command('get_attachment', { stageId, fileId }, { signal })).file,
  });
