import type { Conversations } from '../../conversations/conversations.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface MoveInParts {
  views: BoardViews;
  conversations: Conversations;
}

type MoveInCommands = 'get_conversations' | 'adopt_conversation';

export function moveInCommands({ views, conversations }: MoveInParts): Pick<CommandHandlers, MoveInCommands> {
  return {
    get_conversations: ({ projectId }) => conversations.list(projectId),
    adopt_conversation: async ({ projectId, ...order }) => ({
      stage: await views.stage((await conversations.adopt(projectId, order)).id),
    }),
  };
}
