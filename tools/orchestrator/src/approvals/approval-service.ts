import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AnswerBody,
  type ApproveBody,
  answersProblem,
  type Decision,
  type PendingRequest,
  questionsOf,
  type RequestId,
  type StageId,
} from '@callboard/contract';
import type { Bell } from '../lib/bell.ts';
import type { Edges } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { openDraft, saveDraft } from '../session-state/change-session.ts';
import { decideRequest, type Verdict } from '../session-state/requests.ts';
import type { Store, Tx } from '../store/store.ts';

export interface ApprovalParts {
  store: Store;
  edges: Edges;
  outboxBell: Bell<StageId>;
  /** How long a reply waits for the CLI's confirmation; the decision stands whether it comes in that time or not. */
  confirmationMs: number;
}

/**
 * Pending requests of many sessions, several at once in one session. The first answer wins; a later one is told which
 * decision stands. An answer is stored before it is sent, so none is lost.
 */
export interface ApprovalService {
  /**
   * Allows or denies a tool call or a plan.
   * @throws Rejection `unknown_request` (also another stage's), `already_decided` and `request_closed` with the
   *   decision, `wrong_kind`, `unknown_stage`
   */
  approve(stageId: StageId, body: ApproveBody, actor: string): Promise<Decision>;
  /** Answers a question. @throws as `approve`, and `bad_request` unless exactly the questions asked are answered. */
  answer(stageId: StageId, body: AnswerBody, actor: string): Promise<Decision>;
}

/** What goes to the CLI for a verdict. */
interface Answer {
  verdict: Omit<Verdict, 'by' | 'delivery'>;
  response: Record<string, unknown>;
}

const DENIED = 'The user said no to this and gave no reason.';

export function createApprovalService({ store, edges, outboxBell, confirmationMs }: ApprovalParts): ApprovalService {
  async function decide(
    stageId: StageId,
    requestId: RequestId,
    actor: string,
    answerTo: (request: PendingRequest) => Answer,
  ) {
    const decision = await store.transact(async (tx) => {
      const request = await requireOpen(tx, stageId, requestId);
      const { verdict, response } = answerTo(request.request);
      const body = { kind: 'answer', response: { subtype: 'success', response } } as const;
      const row = { id: edges.newId(), stageId, launchId: request.launchId, wireId: requestId };
      await tx.outbox.insert({ ...row, body, actor, createdAt: tx.now });
      const draft = await openDraft(tx, stageId);
      const decided = await decideRequest(tx, draft, request.request, { ...verdict, by: actor, delivery: 'accepted' });
      await saveDraft(tx, draft);
      tx.afterCommit(() => outboxBell.ring(stageId));
      return decided;
    });
    return settled(decision);
  }

  /** Waits a moment for the CLI to confirm, so that the reply can tell what really happened. */
  async function settled(decision: Decision): Promise<Decision> {
    const { stageId, requestId } = decision;
    const patience = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const unlisten = store.onEvent((event) => {
      if (event.type !== 'decision-updated' || event.data.requestId !== requestId || event.data.stageId !== stageId)
        return;
      if (event.data.delivery !== 'written') resolve(event.data);
    });
    try {
      const stored = (await store.read.requests.find(stageId, requestId))?.decision ?? decision;
      if (stored.delivery !== 'accepted') return requireApplied(stored);
      const late = sleep(confirmationMs, decision, { signal: patience.signal, ref: false }).catch(() => decision);
      return requireApplied(await Promise.race([promise, late]));
    } finally {
      patience.abort();
      unlisten();
    }
  }

  return {
    approve: (stageId, body, actor) =>
      decide(stageId, body.requestId, actor, (request) =>
        body.decision === 'allow' ? allow(request, body) : deny(body),
      ),
    answer: (stageId, body, actor) =>
      decide(stageId, body.requestId, actor, (request) => answerQuestion(request, body)),
  };
}

async function requireOpen(tx: Tx, stageId: StageId, requestId: RequestId) {
  const stored = await tx.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  const { decision } = stored;
  if (decision === null) return stored;
  throw conflict(decision);
}

/** Tells a later answer which decision stands. */
function conflict(decision: Decision): Rejection {
  if (decision.outcome === 'closed') {
    const message = `This request is closed; your answer was not used. ${decision.reason ?? ''}`.trim();
    return new Rejection('request_closed', message, { decision });
  }
  const who = decision.by ?? 'nobody in time';
  return new Rejection(
    'already_decided',
    `This request was already ${decision.outcome} by ${who} at ${decision.at}; your answer was not used.`,
    { decision },
  );
}

function requireApplied(decision: Decision): Decision {
  if (decision.delivery !== 'not-applied') return decision;
  const message =
    'Your answer came too late: Claude Code had withdrawn the request, or its process had ended. It was not used.';
  throw new Rejection('request_closed', message, { decision });
}

function allow(request: PendingRequest, body: ApproveBody): Answer {
  if (request.kind === 'question') {
    throw new Rejection(
      'wrong_kind',
      'This is a question: allowing it without answers would tell Claude that nobody answered. Send the answers instead.',
    );
  }
  const updatedPermissions =
    request.kind === 'plan' ? withMode(body.updatedPermissions ?? []) : body.updatedPermissions;
  return {
    verdict: { outcome: 'allowed', reason: null, answers: null, updatedInput: body.updatedInput ?? null },
    // A bare allow runs the original input; `updatedInput` is sent only if a person changed it.
    response: { behavior: 'allow', ...defined({ updatedInput: body.updatedInput, updatedPermissions }) },
  };
}

/** Accepting a plan always names the mode that follows. */
function withMode(
  updates: NonNullable<ApproveBody['updatedPermissions']>,
): NonNullable<ApproveBody['updatedPermissions']> {
  if (updates.some((update) => update.type === 'setMode')) return updates;
  return [...updates, { type: 'setMode', mode: 'default', destination: 'session' }];
}

function deny(body: ApproveBody): Answer {
  const reason = body.reason?.trim() ? body.reason : null;
  return {
    verdict: { outcome: 'denied', reason, answers: null, updatedInput: null },
    // `message` must be there: without it the model reads of an invalid permission result.
    response: { behavior: 'deny', message: reason ?? DENIED, ...defined({ interrupt: body.interrupt }) },
  };
}

function answerQuestion(request: PendingRequest, { answers }: AnswerBody): Answer {
  if (request.kind !== 'question') {
    throw new Rejection(
      'wrong_kind',
      `This is a request to use ${request.displayName}, not a question. Allow or deny it.`,
    );
  }
  const problem = answersProblem(questionsOf(request.input), answers);
  if (problem !== null) throw new Rejection('bad_request', problem);
  const updatedInput = { ...request.input, answers };
  return {
    verdict: { outcome: 'answered', reason: null, answers, updatedInput: null },
    response: { behavior: 'allow', updatedInput },
  };
}

const defined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
