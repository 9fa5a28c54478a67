import type { Stage } from '@callboard/contract';
import type { MessageRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { budgetBefore } from './budgets.ts';
import { changeSession, openChange, saveChange } from './change-session.ts';
import { deliver, insertContinue, makeUrgent } from './message-delivery.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { endWaits, plannedWait, resumesAutomatically } from './usage-limits.ts';

/** Plans the wait of a stage anew, after a change of what decides whether it goes on by itself. Does nothing for any other stage. */
export async function replanWait(tx: Tx, stage: Stage): Promise<void> {
  if ((await tx.sessions.find(stage.id))?.limitWait == null) return;
  const resumes = await resumesAutomatically(tx, stage);
  await changeSession(tx, stage.id, (change) => setResumes(tx, change, resumes));
}

/** Lets a session that waits go on by itself when its limit resets, or keeps it for a person. */
export function setResumes(tx: Tx, change: SessionChange, resumes: boolean): void {
  const { limitWait } = change.record;
  if (limitWait === null || (limitWait.goesOnAt !== null) === resumes) return;
  const planned = resumes ? plannedWait(tx, limitWait, 0) : { ...limitWait, goesOnAt: null };
  change.record = { ...change.record, limitWait: planned, limitTries: 0 };
}

/** How a session without a process is resumed, in the caller's transaction. */
export interface ResumeIn {
  resumeWith: (tx: Tx, stageId: MessageRow['stageId'], message: MessageRow) => Promise<boolean>;
  repeatIn: (tx: Tx, stageId: MessageRow['stageId']) => Promise<void>;
}

/**
 * Lets a session that waits for a usage limit go on: tells Claude to continue, ahead of the queue. The wait ends in the same
 * transaction, so it goes on once, whatever is killed and when. Messages that the conversation lacks are repeated instead.
 * @param actor null: Callboard, because the limit has reset
 */
export async function resumeIn(
  tx: Tx,
  { resumeWith, repeatIn }: ResumeIn,
  change: SessionChange,
  actor: string | null,
) {
  const { stageId, launchId, turnMessages } = change.record;
  endWaits(change);
  if (actor === null) {
    const text = 'The usage limit has reset, so Callboard lets this stage go on.';
    addNotice(change, tx.now, { level: 'info', code: 'limit-reset', text });
  }
  if (launchId === null && turnMessages.length > 0) {
    await saveChange(tx, change);
    return repeatIn(tx, stageId);
  }
  const row = await insertContinue(tx, change, actor);
  if (launchId === null) {
    await saveChange(tx, change);
    await resumeWith(tx, stageId, row);
    return;
  }
  if (tx.diskPauseReason() === null && (await budgetBefore(tx, change.record)) === null) await deliver(tx, change, row);
  else await makeUrgent(tx, change, row);
  await saveChange(tx, change);
}

/** Opens a session that waits; null if it does not (any more). @throws as `openChange` */
export async function openWaiting(tx: Tx, stageId: MessageRow['stageId']): Promise<SessionChange | null> {
  const change = await openChange(tx, stageId);
  const { limitWait, state } = change.record;
  return limitWait !== null && (state === 'idle' || state === 'ended') ? change : null;
}
