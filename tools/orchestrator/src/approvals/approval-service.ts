import type { AnswerBody, ApproveBody, Decision, PendingRequest, RequestId, StageId } from '@callboard/contract';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { Signal } from '../lib/bell.ts';
import { Rejection } from '../lib/errors.ts';
import type { GivenAnswer } from '../store/ports/requests-table.ts';
import type { Store } from '../store/store.ts';
import { timeOut } from './answers.ts';
import { giveAnswer, readAnswer, requireOpen } from './give-answer.ts';

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
