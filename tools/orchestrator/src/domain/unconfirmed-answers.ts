import type { Decision, LaunchId, LostTrace, StageId } from '@callboard/contract';
import { z } from 'zod';
import type { OutboxRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { requestOf, setDelivery, updateDecision } from './requests.ts';

/** The result of a tool call, as far as it tells of an answer. */
export interface SeenResult {
  toolUseId: string;
  isError: boolean;
  text: string;
}

/** What goes to the CLI with a no. */
const Denial = z.object({ response: z.object({ message: z.string() }) });

/** The result of a call stands close behind the answer that let it run. */
const LOOK_BACK = 200;

/**
 * Records that a process or a turn ended before an answer was confirmed. Where the result of the call was seen all the same, the
 * answer has counted; else its fate is unknown, and a person settles it.
 */
export async function loseAnswer(tx: Tx, row: OutboxRow, lost: LostTrace): Promise<void> {
  const stored = await requestOf(tx, row);
  if (stored === null || stored.decision === null) return;
  const { decision } = stored;
  const newest = await tx.transcript.page(row.stageId, { after: undefined, before: undefined, limit: LOOK_BACK });
  const hasCounted = newest.some((entry) => entry.kind === 'tool-result' && showsThatItCounted(decision, row, entry));
  if (hasCounted) return setDelivery(tx, stored, 'confirmed');
  await updateDecision(tx, { ...decision, delivery: 'unknown', lost });
}

/**
 * Settles by itself an answer that the result of its call shows to have counted: one whose fate was unknown, in a
 * resumed conversation; and one that was given to this launch, whose echo was lost (on a full disk, say).
 */
export async function settleByResult(tx: Tx, stageId: StageId, launchId: LaunchId, result: SeenResult): Promise<void> {
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
 * The turn is over and nothing waits any more. An answer that was written for it and never echoed either counted, or was
 * overtaken by a withdrawal; what told of it was lost, so a person settles it.
 */
export async function loseUnconfirmed(tx: Tx, launchId: LaunchId): Promise<void> {
  for (const row of await unconfirmed(tx, launchId)) {
    const endReason = 'What Claude Code printed of it was lost.';
    await tx.outbox.setVoid(row.id, endReason);
    await loseAnswer(tx, row, { ended: 'turn', writtenAt: row.writtenAt, endedAt: tx.now, endReason });
  }
}

const unconfirmed = async (tx: Tx, launchId: LaunchId): Promise<OutboxRow[]> =>
  (await tx.outbox.listOf(launchId, ['written'])).filter(({ kind }) => kind === 'answer');

/**
 * A call that went well was let run: nobody else answers for us without an alarm. A call that failed tells nothing,
 * since one that was cut off fails as well, unless the error has the words of our no.
 */
function showsThatItCounted(decision: Decision, row: OutboxRow, result: SeenResult): boolean {
  if (decision.toolUseId === '' || result.toolUseId !== decision.toolUseId) return false;
  if (decision.outcome === 'allowed' || decision.outcome === 'answered') return !result.isError;
  const no = row.body.kind === 'answer' ? Denial.safeParse(row.body.response).data : undefined;
  return no !== undefined && result.isError && result.text.includes(no.response.message);
}
