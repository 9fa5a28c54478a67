import {
  type Decision,
  isUnsettled,
  type PendingRequest,
  type RequestId,
  type SendMessageReply,
  type StageId,
} from '@callboard/contract';
import { requestKinds } from '../../core/kinds/registry.ts';
import { inputBlock } from '../../core/kinds/shared/definition.ts';
import { updateDecision } from '../../core/session/requests.ts';
import { Rejection } from '../../lib/errors.ts';
import type { StoredRequest } from '../../store/ports/session-port.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { LostAnswers } from './approvals.ts';

export interface LostAnswerDeps {
  store: Store;
  /** Sends Claude a message in this transaction, and resumes the session if it has ended. */
  sendText: (tx: Tx, stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
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
