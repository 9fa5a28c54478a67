import type { AnswerBody, ApproveBody, Decision, PendingRequest, RequestId, StageId } from '@callboard/contract';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import type { Presence } from '../../core/session/notification-channel.ts';
import type { Signal } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { GivenAnswer } from '../../store/ports/session-port.ts';
import type { Store } from '../../store/store.ts';
import { giveAnswer, type LostAnswers, readAnswer, requireOpen, timeOut } from './answer.ts';
import type { DelayedAnswers } from './delayed-answers.ts';
import type { People } from './people.ts';

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

export interface ApprovalDeps {
  store: Store;
  outboxSignal: Signal<StageId>;
  /** How long a reply waits for the CLI's confirmation. The decision stands either way. */
  confirmationMs: number;
}

/** Who answers, and in which browser or terminal, if known. */
export interface Answerer {
  name: string;
  device?: string | undefined;
}

/**
 * Answers pending requests; a session may have several. The first answer wins; a later one is refused with the decision that
 * stands. An answer is stored before it is sent, so none is lost.
 */
export interface ApprovalService {
  /**
   * Allows or denies a tool call, a plan, a host or an MCP server's form.
   * @throws Rejection `unknown_request` (also for another stage's request), `already_decided` and `request_closed` with the
   *   decision, `answer_held`, `wrong_kind`, `bad_request`
   */
  approve(stageId: StageId, body: ApproveBody, by: Answerer): Promise<Decision>;
  /** Answers a question. @throws as `approve` */
  answer(stageId: StageId, body: AnswerBody, by: Answerer): Promise<Decision>;
  /** Denies an expired request and says that nobody answered. @throws as `approve` */
  expire(request: PendingRequest): Promise<void>;
}

export function createApprovalService({ store, outboxSignal, confirmationMs }: ApprovalDeps): ApprovalService {
  /** Stores the decision and its answer in one transaction. Once it commits, the answer is delivered exactly once. */
  const decide = (stageId: StageId, given: GivenAnswer, actor: string): Promise<Decision> =>
    store.transact(async (tx) => {
      const stored = await requireOpen(tx, stageId, given.body.requestId);
      return giveAnswer(tx, outboxSignal, { stored, actor, ...readAnswer(given, actor) });
    });

  /** Decides, then waits up to `confirmationMs` for the CLI to confirm, so that the reply can say what really happened. */
  async function settled(stageId: StageId, requestId: RequestId, decide: () => Promise<Decision>): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const unlisten = store.onEvent((event) => {
      if (event.type !== 'decision-updated' || event.data.requestId !== requestId || event.data.stageId !== stageId)
        return;
      if (event.data.delivery !== 'written') resolve(event.data);
    });
    try {
      const decision = await decide();
      if (await settlesWithin(promise, confirmationMs)) return requireApplied(await promise);
      return requireApplied((await store.read.requests.findDecision(stageId, requestId)) ?? decision);
    } finally {
      unlisten();
    }
  }

  return {
    approve: (stageId, body, { name, device }) =>
      settled(stageId, body.requestId, () => decide(stageId, { command: 'approve', body, device }, name)),
    answer: (stageId, body, { name, device }) =>
      settled(stageId, body.requestId, () => decide(stageId, { command: 'answer', body, device }, name)),
    async expire({ stageId, requestId }) {
      await store.transact(async (tx) => {
        const stored = await requireOpen(tx, stageId, requestId);
        await giveAnswer(tx, outboxSignal, { stored, actor: null, answerTo: timeOut });
      });
    },
  };
}

function requireApplied(decision: Decision): Decision {
  if (decision.delivery !== 'not-applied') return decision;
  const message =
    'Your answer came too late: Claude Code had withdrawn the request, or its process had ended. It was not used.';
  throw new Rejection('request_closed', message, { decision });
}
