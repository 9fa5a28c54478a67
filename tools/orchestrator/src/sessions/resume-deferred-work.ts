import type { StageId } from '@callboard/contract';
import { changeSession } from '../domain/change-session.ts';
import type { Bell } from '../lib/bell.ts';
import type { Logger } from '../lib/logger.ts';
import type { MessageRow, SessionRecord } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

export interface DeferredWorkParts {
  store: Store;
  log: Logger;
  outboxBell: Bell<StageId>;
  /** Begins a launch in this transaction, to work on the message. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
}

/**
 * Continues after a time in which nothing could be delivered or stored: idle sessions get their next message, ended ones
 * are resumed for messages that were sent meanwhile, and rows that could not be marked are written again. A session that
 * fails does not stop the others.
 */
export async function resumeDeferredWork(parts: DeferredWorkParts): Promise<void> {
  for (const { stageId, launchId, queued } of await parts.store.read.sessions.list()) {
    if (launchId === null && queued === 0) continue;
    try {
      await parts.store.transact((tx) => resumeOne(tx, stageId, parts));
    } catch (error) {
      parts.log.error({ err: error, stageId }, 'resuming the deferred work of a session failed');
    }
  }
}

async function resumeOne(tx: Tx, stageId: StageId, { outboxBell, resumeWith }: DeferredWorkParts): Promise<void> {
  const record: SessionRecord | null = await tx.sessions.find(stageId);
  if (record === null || record.alarm !== null || record.terminal !== null) return;
  if (record.launchId !== null) {
    await changeSession(tx, stageId, () => undefined); // saving delivers the next message
    tx.afterCommit(() => outboxBell.ring(stageId));
    return;
  }
  const row = (await tx.outbox.queueOf(stageId)).find(({ body }) => body.awaitsRoom);
  if (row !== undefined) await resumeWith(tx, stageId, row);
}
