import type { Presence } from '../../announcements/attendance.ts';
import type { ApprovalService } from '../../approvals/approval-service.ts';
import type { DelayedAnswers } from '../../approvals/held-answers.ts';
import type { People } from '../../approvals/people.ts';
import type { LostAnswers } from '../../approvals/settle-answers.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface RequestDeps {
  views: BoardViews;
  approvals: ApprovalService;
  delayedAnswers: DelayedAnswers;
  people: People;
  presence: Presence;
  lostAnswers: LostAnswers;
}

type RequestCommands =
  | 'get_pending'
  | 'take_back_answer'
  | 'set_later'
  | 'update_me'
  | 'tell_looking'
  | 'get_looking'
  | 'get_decisions'
  | 'approve_tool'
  | 'answer_question'
  | 'dismiss_decision'
  | 'retry_decision';

export function requestCommands(deps: RequestDeps): Pick<CommandHandlers, RequestCommands> {
  const { views, approvals, delayedAnswers, people, presence, lostAnswers } = deps;
  return {
    async get_pending({ stageId }, { actor }) {
      const { later } = await people.find(actor.name);
      const pending = await views.pending(stageId);
      return { pending, later: later.filter((one) => stageId === undefined || one.stageId === stageId) };
    },
    set_later: async (wanted, { actor }) => ({ later: await people.setLater(actor.name, wanted) }),
    update_me: async (patch, { actor }) => ({ me: await people.update(actor.name, patch) }),
    async tell_looking({ tabId, at }, { actor }) {
      presence.notify(actor.name, tabId, at);
      return {};
    },
    get_looking: async ({ stageId }, { actor }) => ({ isLooking: presence.isLooking(actor.name, stageId) }),
    get_decisions: views.decisions,
    approve_tool: async ({ stageId, hold = false, ...body }, { actor: { name }, login }) =>
      hold
        ? delayedAnswers.hold(stageId, { command: 'approve', body, device: login?.device }, name)
        : { decision: await approvals.approve(stageId, body, { name, device: login?.device }) },
    answer_question: async ({ stageId, hold = false, ...body }, { actor: { name }, login }) =>
      hold
        ? delayedAnswers.hold(stageId, { command: 'answer', body, device: login?.device }, name)
        : { decision: await approvals.answer(stageId, body, { name, device: login?.device }) },
    take_back_answer: async (wanted, { actor }) => ({ request: await delayedAnswers.withdraw(wanted, actor.name) }),
    dismiss_decision: async ({ stageId, requestId }, { actor }) => ({
      decision: await lostAnswers.dismiss(stageId, requestId, actor.name),
    }),
    retry_decision: ({ stageId, requestId }, { actor }) => lostAnswers.retry(stageId, requestId, actor.name),
  };
}
