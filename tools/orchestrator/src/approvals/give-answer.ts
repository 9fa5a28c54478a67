import {
  type ApproveBody,
  byWhom,
  type Decision,
  type PendingRequest,
  type RequestId,
  type StageId,
} from '@callboard/contract';
import { leavesByInput } from '../agent/leaves-sandbox.ts';
import { openChange, saveChange } from '../domain/change-session.ts';
import { commandLeft } from '../domain/isolation.ts';
import { saveRules } from '../domain/permission-rules.ts';
import { decideRequest } from '../domain/requests.ts';
import type { Answer } from '../kinds/shared/definition.ts';
import type { Signal } from '../lib/bell.ts';
import { Rejection } from '../lib/errors.ts';
import type { DelayedAnswerRow, GivenAnswer, StoredRequest } from '../store/ports/requests-table.ts';
import type { Tx } from '../store/store.ts';
import { allow, answerQuestion, deny, saved } from './answers.ts';

/** What an answer means. */
interface Deciding {
  /** The browser or terminal in which it was given, if known. */
  device?: string | undefined;
  /** @throws Rejection `wrong_kind`, `bad_request` */
  answerTo: (request: PendingRequest) => Answer;
  /** Stored with the decision. */
  alsoStore?: (tx: Tx, request: PendingRequest) => Promise<void>;
}

/** Returns what an answer of this person means. */
export function readAnswer(given: GivenAnswer, actor: string): Deciding {
  const { device } = given;
  if (given.command === 'answer') return { device, answerTo: (request) => answerQuestion(request, given.body) };
  const { body } = given;
  return {
    device,
    answerTo: (request) => (body.decision === 'allow' ? allow(request, body) : deny(request, body)),
    alsoStore: (tx, request) => saveGranted(tx, request, body, actor),
  };
}

interface Giving extends Deciding {
  stored: StoredRequest;
  /** Who answers; null if nobody did in time. */
  actor: string | null;
}

/**
 * Stores the decision on an open request, and its answer in the outbox. Once the transaction commits, the answer is delivered
 * exactly once.
 * @throws as `answerTo`
 */
export async function giveAnswer(tx: Tx, outboxSignal: Signal<StageId>, giving: Giving): Promise<Decision> {
  const { actor, device, answerTo, alsoStore } = giving;
  const { request, launchId } = giving.stored;
  const { stageId, requestId } = request;
  const { verdict, response } = answerTo(request);
  const body = { kind: 'answer', response: { subtype: 'success', response } } as const;
  const row = { id: tx.newId(), stageId, launchId, wireId: requestId, body, actor };
  await tx.outbox.insert({ ...row, createdAt: tx.now });
  const change = await openChange(tx, stageId);
  const decision = await decideRequest(tx, change, request, { ...verdict, by: actor, device, delivery: 'accepted' });
  const input = verdict.updatedInput ?? request.input;
  if (verdict.outcome === 'allowed' && leavesByInput(request.toolName, input))
    commandLeft(change, tx.now, decision.asked);
  await alsoStore?.(tx, request);
  await saveChange(tx, change);
  tx.afterCommit(() => outboxSignal.ring(stageId));
  return decision;
}

/** Keeps the rules that a decision granted. A session outlives its processes, and each process starts without the rules of the previous one. */
async function saveGranted(tx: Tx, request: PendingRequest, body: ApproveBody, by: string): Promise<void> {
  const granted = saved(request, body);
  const stage = granted.length === 0 ? null : await tx.stages.find(request.stageId);
  const expiresAt = body.rememberUntil ?? null; // an instant that has passed keeps rules that have ended
  if (stage !== null) await saveRules(tx, stage, { scope: body.remember ?? 'stage', granted, by, expiresAt });
}

/**
 * Returns the request while it is open and nobody is answering it.
 * @throws Rejection `unknown_request`; with the decision: `already_decided`, `request_closed`; `answer_held`
 */
export async function requireOpen(tx: Tx, stageId: StageId, requestId: RequestId): Promise<StoredRequest> {
  const stored = await tx.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  if (stored.decision !== null) throw conflict(stored.decision);
  if (stored.hold !== null) throw isBeingAnswered(stored.hold);
  return stored;
}

/** Refuses whatever else is done with a request while an answer to it is held back. */
export function isBeingAnswered({ by, outcome, until }: DelayedAnswerRow): Rejection {
  const message = `${by} is answering this request: it will be ${outcome} at ${until}, unless ${by} takes that back first. Your answer was not used.`;
  return new Rejection('answer_held', message);
}

/** Refuses a later answer with the decision that stands. */
export function conflict(decision: Decision): Rejection {
  if (decision.outcome === 'closed') {
    const message = `This request is closed; your answer was not used. ${decision.reason ?? ''}`.trim();
    return new Rejection('request_closed', message, { decision });
  }
  if (decision.outcome === 'timed-out') {
    const message = `This request is closed: it was denied at ${decision.at}, as nobody answered within the time limit. Your answer was not used.`;
    return new Rejection('request_closed', message, { decision });
  }
  const what = `This request was already ${decision.outcome} ${byWhom(decision) || 'by someone'} at ${decision.at}`;
  return new Rejection('already_decided', `${what}; your answer was not used.`, { decision });
}
