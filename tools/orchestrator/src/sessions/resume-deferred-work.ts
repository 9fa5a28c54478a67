import type { StageId } from '@callboard/contract';
import { changeSession, openChange, saveChange } from '../domain/change-session.ts';
import { isStageOnHold } from '../domain/holds.ts';
import type { ResumeIn } from '../domain/limit-waits.ts';
import { followPipeline } from '../domain/pipeline.ts';
import type { SessionChange } from '../domain/session-change.ts';
import { endWaits } from '../domain/usage-limits.ts';
import { continueReleased } from '../domain/withheld.ts';
import type { Bell } from '../lib/bell.ts';
import type { Logger } from '../lib/logger.ts';
import type { MessageRow, SessionRecord } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

export interface DeferredWorkParts extends ResumeIn {
  store: Store;
  log: Logger;
  outboxBell: Bell<StageId>;
}

/**
 * Continues after a time in which nothing could be delivered or stored, or the stage was on hold: idle sessions get their next message
 * or phase, ended ones are resumed for messages that were sent meanwhile, and rows that could not be marked are written again. A
 * session that fails does not stop the others.
 * @param isMeant which sessions; all if left out
 */
export async function resumeDeferredWork(
  parts: DeferredWorkParts,
  isMeant: (record: SessionRecord) => boolean = () => true,
): Promise<void> {
  for (const record of await parts.store.read.sessions.list()) {
    const { stageId, launchId, queued, withheld } = record;
    if ((launchId === null && queued === 0 && !withheld) || !isMeant(record)) continue;
    try {
      await parts.store.transact((tx) => resumeOne(tx, stageId, parts));
    } catch (error) {
      parts.log.error({ err: error, stageId }, 'resuming the deferred work of a session failed');
    }
  }
}

async function resumeOne(tx: Tx, stageId: StageId, parts: DeferredWorkParts): Promise<void> {
  const record: SessionRecord | null = await tx.sessions.find(stageId);
  if (record === null || record.alarm !== null || record.terminal !== null) return;
  if (record.launchId !== null) {
    await changeSession(tx, stageId, () => undefined); // saving delivers the next message
    tx.afterCommit(() => parts.outboxBell.ring(stageId));
    return;
  }
  if ((await tx.stages.find(stageId))?.completedAt != null || (await isStageOnHold(tx, stageId))) return;
  if (record.holdInterrupt === 'interrupted' && record.turnMessages.length > 0) {
    await changeSession(tx, stageId, endWaits);
    return parts.repeatIn(tx, stageId); // Claude lacks what it was told last
  }
  const row = record.withheld ? await releasedWork(tx, stageId) : await awaitingRoom(tx, stageId);
  if (row !== undefined) await parts.resumeWith(tx, stageId, row);
}

const awaitingRoom = async (tx: Tx, stageId: StageId): Promise<MessageRow | undefined> =>
  (await tx.outbox.queueOf(stageId)).find(({ body }) => body.awaitsRoom);

/** Makes due what a session without a process goes on with, and returns the message for its next one. */
async function releasedWork(tx: Tx, stageId: StageId): Promise<MessageRow | undefined> {
  const change: SessionChange = await openChange(tx, stageId);
  if (change.record.holdInterrupt === 'interrupted') await continueReleased(tx, change);
  else await followPipeline(tx, change); // does nothing while a message is queued
  const { queueHeld } = await saveChange(tx, change);
  const waiting = await awaitingRoom(tx, stageId);
  return waiting ?? (queueHeld ? undefined : (await tx.outbox.queueOf(stageId))[0]);
}
