import type { DraftFiles } from '../../messages/draft-files.ts';
import type { Drafts } from '../../messages/drafts.ts';
import type { MessageQueue } from '../../messages/message-queue.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface MessageDeps {
  views: BoardViews;
  messages: MessageQueue;
  drafts: Drafts;
  draftFiles: DraftFiles;
}

type MessageCommands =
  | 'send_message'
  | 'get_queue'
  | 'edit_queued'
  | 'release_queue'
  | 'send_queued'
  | 'remove_queued'
  | 'get_drafts'
  | 'put_draft'
  | 'add_draft_file'
  | 'get_draft_file'
  | 'remove_draft_file';

export function messageCommands(deps: MessageDeps): Pick<CommandHandlers, MessageCommands> {
  const { views, messages, drafts, draftFiles } = deps;
  return {
    send_message: ({ stageId, ...body }, { actor }) => messages.send(stageId, body, actor.name),
    get_queue: async ({ stageId }) => {
      const { queue, queueHeld } = await views.session(stageId);
      return { queue, held: queueHeld };
    },
    edit_queued: async ({ stageId, messageId, patch }) => ({ message: await messages.edit(stageId, messageId, patch) }),
    release_queue: async ({ stageId }, { actor }) => {
      await messages.release(stageId, actor.name);
      return { session: await views.session(stageId) };
    },
    send_queued: ({ stageId, messageId, mode }, { actor }) => messages.sendQueued(stageId, messageId, mode, actor.name),
    remove_queued: async ({ stageId, messageId }) => ({ message: await messages.remove(stageId, messageId) }),

    get_drafts: async ({ stageId }) => ({ drafts: await drafts.list(stageId) }),
    put_draft: (draft) => drafts.put(draft),

    add_draft_file: async ({ stageId, fileId, file }) => ({ file: await draftFiles.add(stageId, fileId, file) }),
    get_draft_file: async ({ stageId, fileId }) => ({ file: await draftFiles.get(stageId, fileId) }),
    remove_draft_file: async ({ stageId, fileId }) => ({ file: await draftFiles.remove(stageId, fileId) }),
  };
}
