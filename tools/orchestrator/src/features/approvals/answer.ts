import {
  type AnswerBody,
  type ApproveBody,
  byWhom,
  type Decision,
  isUnsettled,
  type PendingRequest,
  type RequestId,
  type SendMessageReply,
  type StageId,
} from '@callboard/contract';
import { leavesByInput } from '../../core/agent-event.ts';
import { requestKinds } from '../../core/kinds/registry.ts';
import {
  type Answer,
  inputBlock,
  permissionUpdatesProblem,
  type SavedRule,
} from '../../core/kinds/shared/definition.ts';
import { openChange, saveChange } from '../../core/session/change-session.ts';
import { decideRequest, updateDecision } from '../../core/session/requests.ts';
import { commandLeft, saveRules } from '../../core/session/session-permissions.ts';
import type { Signal } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { DelayedAnswerRow, GivenAnswer, StoredRequest } from '../../store/ports/session-port.ts';
import type { Store, Tx } from '../../store/store.ts';

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
  await tx.outbox.insert({ ...row, createdAt: tx.now }); // right after the commit the store gives it to the launch's writer, which writes it
  const change = await openChange(tx, stageId);
  const decision = await decideRequest(tx, change, request, { ...verdict, by: actor, device, delivery: 'accepted' });
  const input = verdict.updatedInput ?? request.input;
  if (verdict.outcome === 'allowed' && leavesByInput(request.toolName, input))
    commandLeft(change, tx.now, decision.asked);
  await alsoStore?.(tx, request);
  await saveChange(tx, change);
  tx.afterCommit(() => outboxSignal.ring(stageId)); // a writer that could not take it, after a failure, queries the store
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

const NOBODY =
  'Nobody answered within the time limit. This is not a decision of the user: go on without it, or ask again later.';

/**
 * Returns the answer that allows a request.
 * @throws Rejection `wrong_kind` for a question; `bad_request` for an input that would not run, or a field that the CLI would ignore
 */
export function allow(request: PendingRequest, body: ApproveBody): Answer {
  const { allow } = requestKinds[request.kind];
  if (allow === null) {
    const message =
      'This is a question: allowing it without answers would tell Claude that nobody answered. Send the answers instead.';
    throw new Rejection('wrong_kind', message);
  }
  requireThatAllCounts(request, body);
  return allow(request, body);
}

/** The CLI ignores some fields silently, so a person would believe that something was granted or that the turn ended. */
function requireThatAllCounts({ suggestions }: PendingRequest, { interrupt, updatedPermissions = [] }: ApproveBody) {
  if (interrupt === true) {
    const message = 'interrupt ends the turn, so an allowed call could not run. Leave it out, or deny.';
    throw new Rejection('bad_request', message);
  }
  const problem = permissionUpdatesProblem(updatedPermissions, suggestions);
  if (problem !== null) throw new Rejection('bad_request', problem);
}

/** Returns the rules that outlive the session after this decision. */
export const saved = (request: PendingRequest, body: ApproveBody): SavedRule[] =>
  body.decision === 'allow' ? requestKinds[request.kind].saves(request, body) : [];

/**
 * Returns the answer that denies a request. The model reads the reason word for word unless `interrupt` ends the turn.
 * @throws Rejection `bad_request` for `cancel` of anything but a form
 */
export function deny(
  { kind }: PendingRequest,
  { reason: given, interrupt, cancel }: Pick<ApproveBody, 'reason' | 'interrupt' | 'cancel'>,
): Answer {
  if (cancel === true && kind !== 'elicitation')
    throw new Rejection('bad_request', 'cancel closes a form of an MCP server. Leave it out to deny.');
  const reason = given?.trim() ? given : null;
  const { denialMessage, decline } = requestKinds[kind];
  return {
    verdict: { outcome: 'denied', reason, answers: null, updatedInput: null },
    response: decline(denialMessage(reason), {
      ...(interrupt === undefined ? {} : { interrupt }),
      ...(cancel === undefined ? {} : { cancel }),
    }),
  };
}

/** Returns the answer to an expired request. Its wording differs from a person's denial. */
export const timeOut = ({ kind }: PendingRequest): Answer => ({
  verdict: { outcome: 'timed-out', reason: NOBODY, answers: null, updatedInput: null },
  response: requestKinds[kind].decline(NOBODY),
});

/**
 * Returns the answer with a person's answers to a question.
 * @throws Rejection `wrong_kind` if the request is not a question; `bad_request` unless exactly the questions asked are answered
 */
export function answerQuestion(request: PendingRequest, body: AnswerBody): Answer {
  const { answer } = requestKinds[request.kind];
  if (answer !== null) return answer(request, body);
  const message = `This is a request to use ${request.displayName}, not a question. Allow or deny it.`;
  throw new Rejection('wrong_kind', message);
}

export interface LostAnswerDeps {
  store: Store;
  /** Sends Claude a message in this transaction, and resumes the session if it has ended. */
  sendText: (tx: Tx, stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
}

/** Answers whose process ended before it confirmed them. A person settles each one once. */
export interface LostAnswers {
  /**
   * Dismisses the answer and sends nothing. An answer that was already dismissed is returned unchanged.
   * @throws Rejection `unknown_request` (also for another stage's request); with the decision: `nothing_to_settle`, `already_settled`
   */
  dismiss(stageId: StageId, requestId: RequestId, actor: string): Promise<Decision>;
  /**
   * Sends Claude a message that says what was decided and that it may not have arrived. Stores message and settlement in one
   * transaction. It allows nothing.
   * @throws as `dismiss`, and Rejection `already_done` for a stage that is done
   */
  retry(stageId: StageId, requestId: RequestId, actor: string): Promise<Retried>;
}

interface Retried {
  decision: Decision;
  message: SendMessageReply;
}

export function createLostAnswers({ store, sendText }: LostAnswerDeps): LostAnswers {
  async function settle(tx: Tx, decision: Decision, how: 'dismissed' | 'retried', by: string): Promise<Decision> {
    requireUnsettled(decision);
    const settled: Decision = { ...decision, settlement: { how, by, at: tx.now } };
    await updateDecision(tx, settled);
    return settled;
  }

  return {
    dismiss: (stageId, requestId, actor) =>
      store.transact(async (tx) => {
        const { decision } = await requireDecided(tx, stageId, requestId);
        return decision.settlement?.how === 'dismissed' ? decision : settle(tx, decision, 'dismissed', actor);
      }),
    retry: (stageId, requestId, actor) =>
      store.transact(async (tx) => {
        const { request, decision } = await requireDecided(tx, stageId, requestId);
        const settled = await settle(tx, decision, 'retried', actor);
        return { decision: settled, message: await sendText(tx, stageId, retryMessage(request, decision), actor) };
      }),
  };
}

type Decided = StoredRequest & { decision: Decision };

async function requireDecided(tx: Tx, stageId: StageId, requestId: RequestId): Promise<Decided> {
  const stored = await tx.requests.find(stageId, requestId);
  if (stored === null) {
    throw new Rejection('unknown_request', `${stageId} has no request ${requestId}. It may belong to another stage.`);
  }
  const { decision } = stored;
  if (decision !== null) return { ...stored, decision };
  throw new Rejection('nothing_to_settle', 'This request is still open. Answer it instead.');
}

function requireUnsettled(decision: Decision): void {
  if (isUnsettled(decision)) return;
  const { settlement } = decision;
  if (settlement === null) {
    const message = 'It is known what became of this answer, so there is nothing to settle.';
    throw new Rejection('nothing_to_settle', message, { decision });
  }
  const how = settlement.how === 'retried' ? 'sent to Claude again' : 'dismissed';
  const message = `This answer was already ${how} by ${settlement.by} at ${settlement.at}; nothing was done now.`;
  throw new Rejection('already_settled', message, { decision });
}

/**
 * Returns the message to Claude about an answer that may not have arrived. It says which call was decided how, that it is unknown
 * whether the answer arrived, and that Claude should check before it repeats the call. The message allows nothing: a repeated call
 * needs permission again.
 */
export function retryMessage(request: PendingRequest, decision: Decision): string {
  return [whatHappened(request, decision), whatWasDecided(request, decision), whatToDo(request, decision)].join('\n\n');
}

function whatHappened(request: PendingRequest, { lost }: Decision): string {
  const id = request.toolUseId === '' ? '' : ` (tool use ${request.toolUseId})`;
  const call = `${requestKinds[request.kind].retry.call(request)}${id}`;
  return lost?.ended === 'turn'
    ? `The confirmation of the answer to ${call} was lost, so it is not known whether the answer reached you. It may have, or not.`
    : `Your process ended just after ${call} had been answered, before it was known whether the answer reached you. It may have, or not.`;
}

function whatWasDecided(request: PendingRequest, { outcome, reason, answers, updatedInput }: Decision): string {
  const { retry } = requestKinds[request.kind];
  switch (outcome) {
    case 'allowed':
      return retry.allowed(request, updatedInput);
    case 'denied':
      return reason === null ? retry.denied(request) : `${retry.denied(request)}\n\nThe reason given:\n${reason}`;
    case 'answered':
      return `The answer was:\n${inputBlock(answers ?? updatedInput)}`;
    case 'timed-out':
      return 'Nobody answered within the time limit, so it was denied. That was not a decision of the user.';
    case 'closed':
      return 'Nobody answered it.';
    default:
      return outcome satisfies never;
  }
}

function whatToDo({ kind }: PendingRequest, { outcome }: Decision): string {
  const isYes = outcome === 'allowed' || outcome === 'answered';
  return isYes
    ? requestKinds[kind].retry.next
    : 'Check that it was not done all the same, say so if it was, and go on without it.';
}
