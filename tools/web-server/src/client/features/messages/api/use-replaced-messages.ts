import type { StageId } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { draftsQuery, putDraft } from '../../../data/server-drafts.ts';
import { sendMessage } from '../../../data/stage-commands.ts';
import { useCommand } from '../../../data/use-command.ts';
import { type KeptAside, keptAside } from '../model/replaced-messages.ts';

const NONE: readonly KeptAside[] = [];

/** The stage's replaced messages, the same on all screens. */
export function useKeptAside(stageId: StageId): readonly KeptAside[] {
  const { data = NONE } = useQuery({ ...draftsQuery(stageId), select: keptAside });
  return data;
}

/** Sends a replaced message with its files, and removes it here. Its id makes a retry harmless. */
export function useSendKept(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: async ({ messageId, text, isCommand, files }: KeptAside) => {
      const fileIds = files.map(({ fileId }) => fileId);
      await sendMessage(stageId, { message: text, messageId, mode: 'append', isCommand, files: fileIds });
      await cache.invalidateQueries({ queryKey: draftsQuery(stageId).queryKey });
    },
    failed: 'The message was not sent, and is still kept',
  });
}

/** Discards a replaced message. */
export function useDiscardKept(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ key }: KeptAside) => putDraft(cache, { stageId, key, value: null }),
    failed: 'The message was not discarded',
  });
}
