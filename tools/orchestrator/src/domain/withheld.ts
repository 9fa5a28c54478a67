import type { SessionState } from '@callboard/contract';
import type { MessageRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { isStagePaused } from './holds.ts';
import { insertContinue } from './message-delivery.ts';
import { isPhaseDue } from './pipeline.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { endWaits } from './usage-limits.ts';

/** Whether the session would go on with something by itself if its stage were not on hold. */
export async function isTurnPaused(tx: Tx, change: SessionChange, state: SessionState): Promise<boolean> {
  const { record } = change;
  if ((state !== 'idle' && state !== 'ended') || record.alarm !== null || record.terminal !== null) return false;
  return (await isWorkDue(tx, change)) && isStagePaused(tx, record.stageId);
}

async function isWorkDue(tx: Tx, { record }: SessionChange): Promise<boolean> {
  if (record.holdInterrupt === 'interrupted') return true;
  if ((await tx.outbox.countQueued(record.stageId)) === 0) return isPhaseDue(tx, record);
  if (!record.queueHeld) return true;
  return (await tx.outbox.queueOf(record.stageId)).some(({ body }) => body.urgent || body.awaitsRoom);
}

/** Puts "Continue" ahead of the queue of a session that was interrupted for a hold which has ended, once. */
export async function continueReleased(tx: Tx, change: SessionChange): Promise<MessageRow> {
  endWaits(change);
  const text = 'The stage was released, so Callboard tells Claude to continue.';
  addNotice(change, tx.now, { level: 'info', code: 'released', text });
  return insertContinue(tx, change, null);
}
