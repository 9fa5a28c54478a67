import { isChecking, type StageId } from '@callboard/contract';
import type { Signal } from '../lib/bell.ts';
import type { MessageRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { changeSession } from './change-session.ts';
import type { SessionChange } from './session-change.ts';

export interface SettleDeps {
  outboxSignal: Signal<StageId>;
  /** As `Sessions.resumeWith`. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
}

/** Changes the session of a check or review that has ended, and continues with what is queued then. */
export async function settlePhase(
  tx: Tx,
  { outboxSignal, resumeWith }: SettleDeps,
  stageId: StageId,
  work: (change: SessionChange) => Promise<void>,
): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  const record = await changeSession(tx, stageId, work);
  if (record.launchId !== null) return tx.afterCommit(() => outboxSignal.ring(stageId));
  if (record.queueHeld || record.alarm !== null || record.terminal !== null || isChecking(record)) return;
  const [row] = await tx.outbox.queueOf(stageId);
  if (row !== undefined) await resumeWith(tx, stageId, row);
}
