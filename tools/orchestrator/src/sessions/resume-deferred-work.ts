import { isPaused, type StageId } from '@callboard/contract';
import { changeSession, openChange, saveChange } from '../domain/change-session.ts';
import { isStagePaused } from '../domain/holds.ts';
import type { ResumeIn } from '../domain/limit-waits.ts';
import { followPipeline } from '../domain/pipeline.ts';
import type { SessionChange } from '../domain/session-change.ts';
import { endWaits } from '../domain/usage-limits.ts';
import { continueReleased } from '../domain/withheld.ts';
import type { Signal } from '../lib/bell.ts';
import type { Logger } from '../lib/logger.ts';
import type { MessageRow, SessionRecord } from '../store/records.ts';
import type { Store, Tables, Tx } from '../store/store.ts';

export interface DeferredWorkDeps extends ResumeIn {
  store: Store;
  log: Logger;
  outboxSignal: Signal<StageId>;
}

/**
 * Continues after a time in which nothing could be delivered or stored, or the stage was on hold: idle sessions get their next message
 * or phase, and rows that could not be marked are written again. A session that fails does not stop the others. What needs a new process
 * is left to the scheduler (`listDeferred`), so that not all of them are started at once.
 * @param isMeant which sessions; all if left out
 */
export async function resumeDeferredWork(
  deps: DeferredWorkDeps,
  isMeant: (record: SessionRecord) => boolean = () => true,
): Promise<void> {
  for (const record of await deps.store.read.sessions.list()) {
    const { stageId, launchId } = record;
    if (launchId === null || !isMeant(record)) continue;
    try {
      await resumeDeferred(deps, stageId);
    } catch (error) {
      deps.log.error({ err: error, stageId }, 'resuming the deferred work of a session failed');
    }
  }
}

/** Returns the stages without a process that go on as soon as there is room for one: released, or with a message that had to wait. */
export async function listDeferred(
  tables: Pick<Tables, 'sessions' | 'stages' | 'holds' | 'outbox'>,
): Promise<StageId[]> {
  const deferred: StageId[] = [];
  const pauses = await tables.holds.list();
  for (const record of (await tables.sessions.list()).filter(mayBeDeferred)) {
    const { stageId, withheld } = record;
    const stage = await tables.stages.find(stageId);
    if (stage === null || stage.completedAt !== null || isPaused(stage, pauses)) continue;
    if (withheld || (await awaitingRoom(tables, stageId)) !== undefined) deferred.push(stageId);
  }
  return deferred;
}

/** One that waits for the reset of a usage limit goes on with that. */
const mayBeDeferred = ({ launchId, queued, withheld, alarm, terminal, goingBack, limitWait }: SessionRecord): boolean =>
  launchId === null &&
  (withheld || queued > 0) &&
  alarm === null &&
  terminal === null &&
  goingBack === null &&
  limitWait?.goesOnAt == null;

/** Continues one session where it was, once; does nothing if there is nothing to go on with. @throws as `beginLaunch` */
export const resumeDeferred = (deps: Omit<DeferredWorkDeps, 'log'>, stageId: StageId): Promise<void> =>
  deps.store.transact((tx) => resumeOne(tx, stageId, deps));

async function resumeOne(tx: Tx, stageId: StageId, deps: Omit<DeferredWorkDeps, 'log'>): Promise<void> {
  const record: SessionRecord | null = await tx.sessions.find(stageId);
  if (record === null || record.alarm !== null || record.terminal !== null) return;
  if (record.launchId !== null) {
    await changeSession(tx, stageId, () => undefined); // saving delivers the next message
    tx.afterCommit(() => deps.outboxSignal.ring(stageId));
    return;
  }
  if ((await tx.stages.find(stageId))?.completedAt != null || (await isStagePaused(tx, stageId))) return;
  if (record.holdInterrupt === 'interrupted' && record.turnMessages.length > 0) {
    await changeSession(tx, stageId, endWaits);
    return deps.repeatIn(tx, stageId); // Claude lacks what it was told last
  }
  const row = record.withheld ? await releasedWork(tx, stageId) : await awaitingRoom(tx, stageId);
  if (row !== undefined) await deps.resumeWith(tx, stageId, row);
}

const awaitingRoom = async (tx: Pick<Tables, 'outbox'>, stageId: StageId): Promise<MessageRow | undefined> =>
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
