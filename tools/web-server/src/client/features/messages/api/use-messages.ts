import { commands, type MessageId, type StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../../lib/api.ts';
import { queueQuery } from '../../../live/queries.ts';
import { useCommand } from '../../../live/use-command.ts';

/** Sends a message to the stage's session; what did not arrive is told by the caller, beside the text that is kept. */
export const useSendMessage = (stageId: StageId, done: (sent: string) => void) =>
  useCommand({
    run: (message: string) =>
      call(`/api/sessions/${stageId}/message`, {
        method: 'POST',
        body: { message },
        reply: commands.send_message.reply,
      }),
    done: (_, message) => done(message),
  });

const row = (stageId: StageId, messageId: MessageId) => `/api/sessions/${stageId}/queue/${messageId}`;

export function useEditQueued(stageId: StageId, done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ messageId, message }: { messageId: MessageId; message: string }) =>
      call(row(stageId, messageId), { method: 'PATCH', body: { message }, reply: commands.edit_queued.reply }),
    done: () => {
      void cache.invalidateQueries({ queryKey: queueQuery(stageId).queryKey });
      done();
    },
  });
}

export function useRemoveQueued(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (messageId: MessageId) =>
      call(row(stageId, messageId), { method: 'DELETE', reply: commands.remove_queued.reply }),
    failed: 'The message was not removed',
    done: () => void cache.invalidateQueries({ queryKey: queueQuery(stageId).queryKey }),
  });
}
