import type {
  AnswerBody,
  ApproveBody,
  Decision,
  PendingRequest,
  PermissionRule,
  RequestId,
  StageId,
} from '@callboard/contract';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { leavesByInput } from '../agent/leaves-sandbox.ts';
import { openChange, saveChange } from '../domain/change-session.ts';
import { commandLeft } from '../domain/isolation.ts';
import { keepRules, tellRules } from '../domain/permission-rules.ts';
import { decideRequest } from '../domain/requests.ts';
import type { Answer } from '../kinds/shared/definition.ts';
import type { Bell } from '../lib/bell.ts';
import { Rejection } from '../lib/errors.ts';
import type { Store, Tx } from '../store/store.ts';
import { allow, answerQuestion, deny, kept, timeOut } from './answers.ts';

export interface ApprovalParts {
  store: Store;
  outboxBell: Bell<StageId>;
  /** How long a reply waits for the CLI's confirmation. The decision stands either way. */
  confirmationMs: number;
}

/**
 * Answers pending requests; a session may have several. The first answer wins; a later one is refused with the decision that
 * stands. An answer is stored before it is sent, so none is lost.
 */
export interface ApprovalService {
  /**
   * Allows or denies a tool call, a plan, a host or an MCP server's form.
   * @throws Rejection `unknown_request` (also for another stage's request), `already_decided` and `request_closed` with the
   *   decision, `wrong_kind`, `bad_request`
   */
  approve(stageId: StageId, body: ApproveBody, actor: string): Promise<Decision>;
  /** Answers a question. @throws as `approve` */
  answer(stageId: StageId, body: AnswerBody, actor: string): Promise<Decision>;
  /** Removes a kept rule. Running sessions keep it until their process ends. @throws Rejection `unknown_rule` */
  revoke(ruleId: string): Promise<PermissionRule>;
  /** Denies an expired request and says that nobody answered. @throws as `approve` */
  expire(request: PendingRequest): Promise<void>;
}

interface Deciding {
  answerTo: (request: PendingRequest) => Answer;
  /** Stored with the decision. */
  alsoStore?: (tx: Tx, request: PendingRequest) => Promise<void>;
}

export function createApprovalService({ store, outboxBell, confirmationMs }: ApprovalParts): ApprovalService {
  /** Stores the decision and its answer in one transaction. Once it commits, the answer is delivered exactly once. */
  async function decide(
    stageId: StageId,
    requestId: RequestId,
    actor: string | null,
    { answerTo, alsoStore }: Deciding,
  ): Promise<Decision> {
    return store.transact(async (tx) => {
      const { request, launchId } = await requireOpen(tx, stageId, requestId);
      const { verdict, response } = answerTo(request);
      const body = { kind: 'answer', response: { subtype: 'success', response } } as const;
      const row = { id: tx.newId(), stageId, launchId, wireId: requestId, body, actor };
      await tx.outbox.insert({ ...row, createdAt: tx.now });
      const change = await openChange(tx, stageId);
      const decision = await decideRequest(tx, change, request, { ...verdict, by: actor, delivery: 'accepted' });
      const input = verdict.updatedInput ?? request.input;
      if (verdict.outcome === 'allowed' && leavesByInput(request.toolName, input))
        commandLeft(change, tx.now, decision.asked);
      await alsoStore?.(tx, request);
      await saveChange(tx, change);
      tx.afterCommit(() => outboxBell.ring(stageId));
      return decision;
    });
  }

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
    async approve(stageId, body, actor) {
      const deciding: Deciding = {
        answerTo: (request) => (body.decision === 'allow' ? allow(request, body) : deny(request, body)),
        alsoStore: (tx, request) => keepGranted(tx, request, body, actor),
      };
      return settled(stageId, body.requestId, () => decide(stageId, body.requestId, actor, deciding));
    },
    async answer(stageId, body, actor) {
      const answerTo = (request: PendingRequest) => answerQuestion(request, body);
      return settled(stageId, body.requestId, () => decide(stageId, body.requestId, actor, { answerTo }));
    },
    revoke: (ruleId) =>
      store.transact(async (tx) => {
        const rule = await tx.rules.find(ruleId);
        if (rule === null)
          throw new Rejection('unknown_rule', `There is no rule ${ruleId}; it may have been removed already.`);
        await tx.rules.remove(ruleId);
        await tellRules(tx, rule.projectId);
        return rule;
      }),
    async expire({ stageId, requestId }) {
      await decide(stageId, requestId, null, { answerTo: timeOut });
    },
  };
}

/** Keeps the rules that a decision granted. A session outlives its processes, and each process starts without the rules of the previous one. */
async function keepGranted(tx: Tx, request: PendingRequest, body: ApproveBody, by: string): Promise<void> {
  const granted = kept(request, body);
  const stage = granted.length === 0 ? null : await tx.stages.find(request.stageId);
  if (stage !== null) await keepRules(tx, stage, { scope: body.remember ?? 'stage', granted, by });
}

async function requireOpen(tx: Tx, stageId: StageId, requestId: RequestId) {
  const stored = await tx.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  if (stored.decision === null) return stored;
  throw conflict(stored.decision);
}

/** Refuses a later answer with the decision that stands. */
function conflict(decision: Decision): Rejection {
  if (decision.outcome === 'closed') {
    const message = `This request is closed; your answer was not used. ${decision.reason ?? ''}`.trim();
    return new Rejection('request_closed', message, { decision });
  }
  if (decision.outcome === 'timed-out') {
    const message = `This request is closed: it was denied at ${decision.at}, as nobody answered within the time limit. Your answer was not used.`;
    return new Rejection('request_closed', message, { decision });
  }
  const what = `This request was already ${decision.outcome} by ${decision.by ?? 'someone'} at ${decision.at}`;
  return new Rejection('already_decided', `${what}; your answer was not used.`, { decision });
}

function requireApplied(decision: Decision): Decision {
  if (decision.delivery !== 'not-applied') return decision;
  const message =
    'Your answer came too late: Claude Code had withdrawn the request, or its process had ended. It was not used.';
  throw new Rejection('request_closed', message, { decision });
}
