import type { MessageId, RewindBody, StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { useState } from 'react';
import { v5 as idOf, v4 as newId } from 'uuid';
import { client } from '../lib/api-client.ts';
import { UPLOAD_MS, untilDelivered } from '../lib/until-delivered.ts';
import { useCommand } from './use-command.tsx';

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
export const useRewind = (stageId: StageId, done: (text: string, wanted: RewindBody) => void) =>
  useCommand({
    run: (body: RewindBody) => client.command('rewind_session', { stageId, ...body }),
    done: ({ plan }, wanted) => done(plan.text, wanted),
  });

/** Undoes the newest going back. */
export const useUndoRewind = (stageId: StageId) =>
  useCommand({
    run: () => client.command('undo_rewind', { stageId }),
    failed: 'Going back was not undone',
    stageId: () => stageId,
  });

/** Forks a stage before a message. */
export function useForkStage(stageId: StageId, done: (made: StageId) => void) {
  const [formId] = useState(() => newId());
  return useCommand({
    run: (body: { messageId: MessageId; title: string }) => {
      // The same form sent again makes no second fork: the reply may have been lost.
      const fork = { stageId, ...body, creationId: idOf(JSON.stringify(body), formId) };
      return untilDelivered((_attempt, signal) => client.command('fork_stage', fork, { signal }), {
        attemptMs: UPLOAD_MS, // as long as git may take
      });
    },
    done: ({ stage }) => done(stage.id),
  });
}
