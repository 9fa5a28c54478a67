import type { Decision, LaunchId, LostTrace, StageId } from '@callboard/contract';
import { z } from 'zod';
import type { OutboxRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { requestOf, setDelivery, updateDecision } from './requests.ts';

/** The parts of a tool result that show whether an answer counted. */
export interface AnsweredResult {
  toolUseId: string;
  isError: boolean;
  text: string;
}

/** An answer that denies. */
const Denial = z.object({ response: z.object({ message: z.string() }) });

/** How many entries are searched: the result of a call follows soon after the answer that allowed it. */
const LOOKBACK = 200;

/**
 * Records that a process or a turn ended before an answer was confirmed. If the transcript has the result of the call, the
 * answer counted; otherwise its fate is unknown, and a person settles it.
 */
export async function loseAnswer(tx: Tx, row: OutboxRow, lost: LostTrace): Promise<void> {
  const stored = await requestOf(tx, row);
  if (stored === null || stored.decision === null) return;
  const { decision } = stored;
  const newest = await tx.transcript.page(row.stageId, { after: undefined, before: undefined, limit: LOOKBACK });
  const hasCounted = newest.some((entry) => entry.kind === 'tool-result' && showsThatItCounted(decision, row, entry));
  if (hasCounted) return setDelivery(tx, stored, 'confirmed');
  await updateDecision(tx, { ...decision, delivery: 'unknown', lost });
}

/**
 * Confirms the answers that counted, as the result of their call shows: answers of unknown fate, in a resumed
 * conversation, and answers to this launch whose echo was lost, for example on a full disk.
 */
export async function settleByResult(
  tx: Tx,
  stageId: StageId,
  launchId: LaunchId,
  result: AnsweredResult,
): Promise<void> {
  for (const row of await unconfirmed(tx, launchId)) {
    const stored = await requestOf(tx, row);
    if (stored?.decision == null || !showsThatItCounted(stored.decision, row, result)) continue;
    await tx.outbox.setConfirmed(row.id, tx.now);
    await setDelivery(tx, stored, 'confirmed');
  }
  for (const decision of await tx.requests.listUnsettledOf(stageId)) {
    if (decision.toolUseId !== result.toolUseId) continue;
    const stored = await tx.requests.find(stageId, decision.requestId);
    const row = stored === null ? null : await tx.outbox.findByWireId(stored.launchId, decision.requestId);
    if (stored === null || row === null || !showsThatItCounted(decision, row, result)) continue;
    await setDelivery(tx, stored, 'confirmed');
  }
}

/**
 * Records the answers that were written and never echoed, once the turn is over and nothing is open. Such an answer either
 * counted or came after a withdrawal. The line that told which is lost, so a person settles it.
 */
export async function loseUnconfirmed(tx: Tx, launchId: LaunchId): Promise<void> {
  for (const row of await unconfirmed(tx, launchId)) {
    const endReason = 'The output of Claude Code about it was lost.';
    await tx.outbox.setVoid(row.id, endReason);
    await loseAnswer(tx, row, { ended: 'turn', writtenAt: row.writtenAt, endedAt: tx.now, endReason });
  }
}

const unconfirmed = async (tx: Tx, launchId: LaunchId): Promise<OutboxRow[]> =>
  (await tx.outbox.listOf(launchId, ['written'])).filter(({ kind }) => kind === 'answer');

/**
 * A call that succeeded was allowed: nothing else can answer without an alarm. A call that failed proves nothing, because
 * an interrupted call fails too, unless its error has the text of Callboard's denial.
 */
function showsThatItCounted(decision: Decision, row: OutboxRow, result: AnsweredResult): boolean {
  if (decision.toolUseId === '' || result.toolUseId !== decision.toolUseId) return false;
  if (decision.outcome === 'allowed' || decision.outcome === 'answered') return !result.isError;
  const no = row.body.kind === 'answer' ? Denial.safeParse(row.body.response).data : undefined;
  return no !== undefined && result.isError && result.text.includes(no.response.message);
}
