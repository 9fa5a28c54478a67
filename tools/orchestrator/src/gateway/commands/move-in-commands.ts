import type { Conversations } from '../../conversations/conversations.ts';
import type { HostIssues } from '../../pull-requests/host-issues.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface MoveInDeps {
  views: BoardViews;
  conversations: Conversations;
  issues: HostIssues;
}

type MoveInCommands = 'get_conversations' | 'adopt_conversation' | 'get_issues' | 'import_issues';

export function moveInCommands({ views, conversations, issues }: MoveInDeps): Pick<CommandHandlers, MoveInCommands> {
  return {
    get_conversations: ({ projectId }) => conversations.list(projectId),
    adopt_conversation: async ({ projectId, ...order }) => ({
      stage: await views.stage((await conversations.adopt(projectId, order)).id),
    }),
    get_issues: ({ projectId, ...query }) => issues.list(projectId, query),
    import_issues: async ({ projectId, numbers }) => {
      const { ids, ...done } = await issues.take(projectId, numbers);
      const cards = new Map((await views.board()).stages.map((stage) => [stage.id, stage]));
      return { stages: ids.flatMap((id) => cards.get(id) ?? []), ...done };
    },
  };
}
