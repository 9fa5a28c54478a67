import { awaitsTasks, isChecking, isCommandTask, type SessionState, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { type SessionRecord, summaryOf } from '../store/records.ts';
import { unknownStage } from '../store/require.ts';
import type { Tables, Tx } from '../store/store.ts';
import { stopCheck } from './checks.ts';
import { deliverNext, queuedMessage } from './message-delivery.ts';
import { followPipeline } from './pipeline.ts';
import { nowOf } from './running-calls.ts';
import type { SessionChange } from './session-change.ts';
import { continueReleased, isTurnPaused } from './withheld.ts';

/** @throws Rejection `no_session` if the stage was never started, `unknown_stage` */
export async function openChange(tx: Tx, stageId: StageId): Promise<SessionChange> {
  const record = await tx.sessions.find(stageId);
  if (record === null) throw await noSession(tx, stageId);
  return { before: record, record, entries: [], queueChanged: false, delivered: [] };
}

/** Returns the rejection for a stage without a session: it was never started, or does not exist. */
export async function noSession({ stages }: Pick<Tables, 'stages'>, stageId: StageId): Promise<Rejection> {
  if ((await stages.find(stageId)) === null) return unknownStage(stageId);
  return new Rejection('no_session', `${stageId} has no session: it was never started. Start the stage first.`);
}

const ALARMED = 'It was stopped because the session has an open security alarm.';

/** Whether subagents work in the background. Background commands do not count: messages are delivered while they run. */
export const agentsWork = ({ backgroundTasks }: SessionRecord): boolean =>
  backgroundTasks.some((task) => !isCommandTask(task));

/** Returns the state that follows from the stored facts. */
export function deriveState(record: SessionRecord, openRequests: number): SessionState {
  if (isChecking(record)) return 'busy';
  if (record.launchState !== 'live') return record.launchState;
  if (openRequests > 0) return 'waiting';
  // The CLI is about to begin a turn, to tell Claude that a background task has ended.
  const isWoken = record.reports.length > 0;
  return record.turnRunning || isWoken || agentsWork(record) ? 'busy' : 'idle';
}

/**
 * Derives the state, gives an idle session its next queued message or its next phase, stores the change and emits its
 * events. A session never shows as idle while a message waits that it could work on.
 */
export async function saveChange(tx: Tx, change: SessionChange): Promise<SessionRecord> {
  const { stageId } = change.record;
  if (change.record.alarm !== null && (await stopCheck(tx, change, ALARMED))) {
    change.record = { ...change.record, atGate: true };
  }
  // A session that works gets nothing from its queue now, so both counts can be read at once.
  const works = deriveState(change.record, 0) !== 'idle';
  const [open, stillQueued] = await Promise.all([
    tx.requests.countOpenOf(stageId),
    works ? tx.outbox.countQueued(stageId) : null,
  ]);
  const withheld = await isTurnPaused(tx, change, deriveState(change.record, open));
  change.record = { ...change.record, withheld };
  if (!withheld) await giveNext(tx, change, open);
  const state = deriveState(change.record, open);
  const queued = stillQueued ?? (await tx.outbox.countQueued(stageId)); // reads no attachments; those are read only for `queue-updated`
  change.record = {
    ...change.record,
    state,
    stateSince: state === change.before.state ? change.before.stateSince : tx.now,
    // Only a session at work can stall.
    stalledSince: state === 'busy' || awaitsTasks({ ...change.record, state }) ? change.record.stalledSince : null,
    modeBeforePlan: isPlanBegun(change) ? change.before.mode : change.record.modeBeforePlan,
    queued,
    queueHeld: change.record.queueHeld && queued > 0,
    heldSinceAlarm: change.record.heldSinceAlarm && change.record.queueHeld && queued > 0,
    turnUsage: change.record.turnRunning ? change.record.turnUsage : null,
    // Of a turn that ended well, nothing is left to keep waiting.
    spentBudget: hasNothingToDo(change.record, queued) ? null : change.record.spentBudget,
    now: nowOf(change.record, state, tx.now),
  };
  await tx.sessions.save(change.record);
  if (change.entries.length > 0) {
    await tx.transcript.append(change.entries);
    await tx.emit({ type: 'transcript-appended', data: { stageId, index: change.record.transcriptLength } });
  }
  if (change.queueChanged || change.record.queueHeld !== change.before.queueHeld) {
    const rows = queued === 0 ? [] : (await tx.outbox.queueOf(stageId)).map(queuedMessage);
    await tx.emit({ type: 'queue-updated', data: { stageId, queue: rows, held: change.record.queueHeld } });
  }
  if (change.record.mode !== change.before.mode) {
    await tx.emit({ type: 'mode-changed', data: { stageId, mode: change.record.mode } });
  }
  const summary = summaryOf(change.record);
  if (JSON.stringify(summary) !== JSON.stringify(summaryOf(change.before))) {
    await tx.emit({ type: 'session-updated', data: summary });
  }
  return change.record;
}

async function giveNext(tx: Tx, change: SessionChange, openRequests: number): Promise<void> {
  const isIdle = () => deriveState(change.record, openRequests) === 'idle';
  if (isIdle() && change.record.holdInterrupt === 'interrupted') await continueReleased(tx, change);
  if (isIdle()) await deliverNext(tx, change);
  if (isIdle()) await followPipeline(tx, change);
}

const isPlanBegun = ({ before, record }: SessionChange): boolean => record.mode === 'plan' && before.mode !== 'plan';

const hasNothingToDo = ({ lastTurn, turnRunning }: SessionRecord, queued: number): boolean =>
  queued === 0 && !turnRunning && lastTurn?.outcome === 'succeeded';

/** Changes a session in the caller's transaction. @throws as `openChange` */
export async function changeSession(
  tx: Tx,
  stageId: StageId,
  work: (change: SessionChange) => void | Promise<void>,
): Promise<SessionRecord> {
  const change = await openChange(tx, stageId);
  await work(change);
  return saveChange(tx, change);
}
