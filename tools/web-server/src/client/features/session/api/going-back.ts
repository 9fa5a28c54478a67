import type { MessageId, RewindBody, StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** What going back to a message would change. `asOf`: it is read again when this is another one. */
export const rewindPlanQuery = (stageId: StageId, messageId: MessageId, asOf: string) =>
  queryOptions({
    queryKey: ['rewind-plan', stageId, messageId, asOf],
    queryFn: async ({ signal }) =>
      (await client.command('rewind_session', { stageId, messageId, dryRun: true }, { signal })).plan,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

/** Goes back to before a message. Resolves once the files are set and the result is stored. */
export const useGoBack = (stageId: StageId, done: (text: string, wanted: RewindBody) => void) =>
  useCommand({
    run: (body: RewindBody) => client.command('rewind_session', { stageId, ...body }),
    done: ({ plan }, wanted) => done(plan.text, wanted),
  });

/** Undoes the newest going back. */
export const useUndoGoingBack = (stageId: StageId) =>
  useCommand({
    run: () => client.command('undo_rewind', { stageId }),
    failed: 'Going back was not undone',
    stageId: () => stageId,
  });

/** Forks a stage before a message. */
export const useForkStage = (stageId: StageId, done: (made: StageId) => void) =>
  useCommand({
    run: (body: { messageId: MessageId; title: string }) => client.command('fork_stage', { stageId, ...body }),
    done: ({ stage }) => done(stage.id),
  });
