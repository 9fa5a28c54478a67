import type { StageId } from '@callboard/contract';
import { changeSession } from '../domain/change-session.ts';
import type { Bell } from '../lib/bell.ts';
import type { Logger } from '../lib/logger.ts';
import type { MessageRow, SessionRecord } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

export interface WaitingParts {
  store: Store;
  log: Logger;
  outboxBell: Bell<StageId>;
  /** Begins a launch in this transaction, to work on the message. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
}

/**
 * After a time in which nothing could be delivered or stored: idle sessions get their next message, ended ones are
 * resumed for what was sent to them meanwhile, and rows that could not be marked are written again. One session that
 * fails does not hold up the others.
 */
export async function resumeDeferredWork(parts: WaitingParts): Promise<void> {
  for (const { stageId, launchId, queued } of await parts.store.read.sessions.list()) {
    if (launchId === null && queued === 0) continue;
    try {
      await parts.store.transact((tx) => giveOne(tx, stageId, parts));
    } catch (error) {
      parts.log.error({ err: error, stageId }, 'what waited could not be given to its session');
    }
  }
}

async function giveOne(tx: Tx, stageId: StageId, { outboxBell, resumeWith }: WaitingParts): Promise<void> {
  const record: SessionRecord | null = await tx.sessions.find(stageId);
  if (record === null || record.alarm !== null) return;
  if (record.launchId !== null) {
    await changeSession(tx, stageId, () => undefined); // saving it delivers
    tx.afterCommit(() => outboxBell.ring(stageId));
    return;
  }
  const row = (await tx.outbox.queueOf(stageId)).find(({ body }) => body.awaitsRoom);
  if (row !== undefined) await resumeWith(tx, stageId, row);
}
