import type { PullRequests } from '../../pull-requests/pull-requests.ts';
import type { Receipts } from '../../receipts/receipts.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface PullRequestDeps {
  views: BoardViews;
  pullRequests: PullRequests;
  receipts: Receipts;
}

type PullRequestCommands =
  | 'get_receipt'
  | 'get_pull_request'
  | 'open_pull_request'
  | 'refresh_pull_request'
  | 'get_feedback'
  | 'send_feedback';

export const pullRequestCommands = ({
  views,
  pullRequests,
  receipts,
}: PullRequestDeps): Pick<CommandHandlers, PullRequestCommands> => ({
  get_receipt: ({ stageId }) => receipts.of(stageId),
  get_pull_request: async ({ stageId }) => ({ plan: await pullRequests.plan(stageId) }),
  open_pull_request: async ({ stageId, ...body }, { actor }) => {
    await pullRequests.open(stageId, body, { by: actor.name, turn: null });
    return { stage: await views.stage(stageId) };
  },
  refresh_pull_request: async ({ stageId }) => {
    await pullRequests.refresh(stageId);
    return { stage: await views.stage(stageId) };
  },
  get_feedback: async ({ stageId }) => ({ feedback: await pullRequests.feedback(stageId) }),
  send_feedback: ({ stageId, ...chosen }, { actor }) => pullRequests.sendFeedback(stageId, chosen, actor.name),
});
