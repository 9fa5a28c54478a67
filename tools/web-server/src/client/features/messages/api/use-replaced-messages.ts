import type { StageId } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { draftsQuery, putDraft } from '../../../data/server-drafts.ts';
import { sendMessage } from '../../../data/stage-commands.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { replacedMessages, type StoredReplacedMessage } from '../model/replaced-messages.ts';

const NONE: readonly StoredReplacedMessage[] = [];

/** The stage's replaced messages, the same on all screens. */
export function useReplacedMessages(stageId: StageId): readonly StoredReplacedMessage[] {
  const { data = NONE } = useQuery({ ...draftsQuery(stageId), select: replacedMessages });
  return data;
}

/** Sends a replaced message with its files, and removes it here. Its id makes a retry harmless. */
export function useSendReplaced(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: async ({ messageId, text, isCommand, files }: StoredReplacedMessage) => {
      const fileIds = files.map(({ fileId }) => fileId);
      await sendMessage(stageId, { message: text, messageId, mode: 'append', isCommand, files: fileIds });
      await cache.invalidateQueries({ queryKey: draftsQuery(stageId).queryKey });
    },
    failed: 'The message was not sent, and is still kept',
  });
}

/** Discards a replaced message. */
export function useDiscardReplaced(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ key }: StoredReplacedMessage) => putDraft(cache, { stageId, key, value: null }),
    failed: 'The message was not discarded',
  });
}
