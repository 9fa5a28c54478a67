import {
  awaitsTasks,
  isChecking,
  isCommandTask,
  type SessionState,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { type MessageRow, type SessionRecord, summaryOf } from '../../store/records.ts';
import { type Tables, type Tx, unknownStage } from '../../store/store.ts';
import { settleHosts } from './host-grants.ts';
import { deliver, deliverNext, insertContinue, makeUrgent, queuedMessage } from './message-delivery.ts';
import { followPipeline, isPhaseDue, stopCheck } from './pipeline.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { budgetBefore, endWaits, isStagePaused, plannedWait, resumesAutomatically } from './spending-limits.ts';
import { closeDenial, nowOf } from './tool-calls.ts';

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
  await settleHosts(tx, change);
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

/** Whether the session would go on with something by itself if its stage were not on hold. */
async function isTurnPaused(tx: Tx, change: SessionChange, state: SessionState): Promise<boolean> {
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

/** Remembers how long a conversation's record was when the last process that wrote it had ended: it only grows. */
export async function rememberRecord(
  tx: Tx,
  stageId: StageId,
  { sessionId, bytes }: { sessionId: string; bytes: number },
) {
  await changeSession(tx, stageId, (change) => {
    if (change.record.sessionId !== sessionId) return;
    const before = change.record.conversationRecord;
    const brokenLines = before?.sessionId === sessionId ? before.brokenLines : 0;
    change.record = { ...change.record, conversationRecord: { sessionId, bytes, brokenLines } };
  });
}

/** What a resume found of a conversation's record. */
interface FoundRecord {
  sessionId: string;
  bytes: number;
  brokenLines: number;
}

/**
 * Says that a conversation was resumed without a part of it: Claude Code skips lines that it cannot read, and does not know
 * what it no longer has. Each damage is told once.
 */
export async function reportDamage(tx: Tx, stageId: StageId, { sessionId, bytes, brokenLines }: FoundRecord) {
  const record = await tx.sessions.find(stageId);
  const before = record?.conversationRecord?.sessionId === sessionId ? record.conversationRecord : null;
  const newlyBroken = brokenLines - (before?.brokenLines ?? 0);
  const lost = (before?.bytes ?? 0) - bytes;
  if (record === null || (newlyBroken <= 0 && lost <= 0)) return;
  const what = [
    lost > 0 ? `is ${lost} bytes shorter than when its last process ended` : '',
    newlyBroken > 0 ? `has ${newlyBroken === 1 ? '1 line that is' : `${newlyBroken} lines that are`} cut off` : '',
  ];
  const text = `Claude Code's record of this conversation ${what.filter((text) => text !== '').join(' and ')}. Claude was resumed without that part and does not know of it, although it stands above. What was done in the worktree stands: tell Claude what it needs to know.`;
  await changeSession(tx, stageId, (change) => {
    change.record = { ...change.record, conversationRecord: { sessionId, bytes, brokenLines } };
    addNotice(change, tx.now, { level: 'warning', code: 'conversation-damaged', text });
  });
}

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

/** Reopens a stage that is done, in the caller's transaction. Does nothing to any other stage. */
export async function reopenStage(tx: Tx, stage: Stage, actor: string): Promise<void> {
  if (stage.completedAt === null) return;
  const reopened = { ...stage, completedAt: null, merged: null, updatedAt: tx.now };
  await tx.stages.update(reopened);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: reopened } });
  if ((await tx.sessions.find(stage.id)) === null) return;
  await changeSession(tx, stage.id, (change) => {
    endWaits(change);
    closeDenial(change); // whoever completed the stage accepted it
    addNotice(change, tx.now, { level: 'info', code: 'reopened', text: `Reopened by ${actor}.` });
  });
}

export interface SettleDeps {
  /** As `Sessions.resumeWith`. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
}

/** Changes the session of a check or review that has ended, and continues with what is queued then. */
export async function settlePhase(
  tx: Tx,
  { resumeWith }: SettleDeps,
  stageId: StageId,
  work: (change: SessionChange) => Promise<void>,
): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  const record = await changeSession(tx, stageId, work);
  if (
    record.launchId !== null ||
    record.queueHeld ||
    record.alarm !== null ||
    record.terminal !== null ||
    isChecking(record)
  )
    return;
  const [row] = await tx.outbox.queueOf(stageId);
  if (row !== undefined) await resumeWith(tx, stageId, row);
}
