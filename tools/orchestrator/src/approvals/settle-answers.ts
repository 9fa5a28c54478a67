import { type Decision, isUnsettled, type RequestId, type SendMessageReply, type StageId } from '@callboard/contract';
import { updateDecision } from '../domain/requests.ts';
import { Rejection } from '../lib/errors.ts';
import type { StoredRequest } from '../store/ports/requests-table.ts';
import type { Store, Tx } from '../store/store.ts';
import { retryMessage } from './retry-message.ts';

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
