import type { MessageId, MessageMode, MessagePatch, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { useQueryClient } from '@tanstack/react-query';
import { queueQuery } from '../../../data/queries.ts';
import { sendMessage } from '../../../data/stage-commands.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { newMessageId } from '../model/unsent-store.ts';

export interface Outgoing {
  message: string;
  messageId: MessageId;
  mode: MessageMode;
  isCommand: boolean;
  /** Ids of its files on the server. */
  files: readonly string[];
}

/**
 * Sends a message to the stage's session. The caller shows a failure beside the text, which is kept. The same message
 * sent again has the same id, so that it does not arrive twice if only the reply was lost.
 */
export const useSendMessage = (stageId: StageId, done: (sent: Outgoing) => void) =>
  useCommand({
    run: async (outgoing: Outgoing) => {
      const body = { ...outgoing, files: [...outgoing.files] };
      try {
        return await sendMessage(stageId, body);
      } catch (error) {
        // Another device sent a message of this draft before more was typed here: this is another one.
        if (!(error instanceof TransportError) || error.code !== 'message_id_reused') throw error;
        return sendMessage(stageId, { ...body, messageId: newMessageId() });
      }
    },
    done: (_, outgoing) => done(outgoing),
  });

/** A command on the queue. The queue is reloaded afterwards. */
function useQueueCommand<Input>(stageId: StageId, run: (input: Input) => Promise<unknown>, failed?: string) {
  const cache = useQueryClient();
  return useCommand({
    run: async (input: Input) => {
      await run(input);
      await cache.invalidateQueries({ queryKey: queueQuery(stageId).queryKey });
    },
    ...(failed !== undefined && { failed }),
  });
}

interface Change {
  messageId: MessageId;
  patch: MessagePatch;
}

const change = (stageId: StageId) => (given: Change) => client.command('edit_queued', { stageId, ...given });

/** The caller shows a refusal beside the text. */
export const useEditQueued = (stageId: StageId) => useQueueCommand(stageId, change(stageId));

export const useMoveQueued = (stageId: StageId) =>
  useQueueCommand(stageId, change(stageId), 'The message was not moved');

export const useRemoveQueued = (stageId: StageId) =>
  useQueueCommand(
    stageId,
    (messageId: MessageId) => client.command('remove_queued', { stageId, messageId }),
    'The message was not removed',
  );

export const useSendQueued = (stageId: StageId) =>
  useQueueCommand(
    stageId,
    (row: { messageId: MessageId; mode: 'steer' | 'now' }) => client.command('send_queued', { stageId, ...row }),
    'The message was not sent',
  );

export const useReleaseQueue = (stageId: StageId) =>
  useQueueCommand(stageId, () => client.command('release_queue', { stageId }), 'The queue was not released');
