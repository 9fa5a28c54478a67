import { type Check, type CheckState, isChecking, type Stage } from '@callboard/contract';
import type { CheckRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { addNotice, type Notice, type SessionChange } from './session-change.ts';
import { stopReview } from './side-runs.ts';

/** Sets the state of a check, in its own row and in its session. */
export async function setCheck(tx: Tx, change: SessionChange, run: CheckRecord): Promise<void> {
  await tx.checks.save(run);
  const { id: checkId, state, command, failures, attempts } = run;
  change.record = { ...change.record, check: { checkId, state, command, failures, attempts, since: tx.now } };
}

/** What a check is run for. */
interface CheckedPhase {
  stage: Stage;
  check: Check;
  /** Who asks for it; null: Callboard, after a turn. */
  by: string | null;
}

/** Makes a check of the session's phase due. It is run when this is committed. */
export async function dueCheck(tx: Tx, change: SessionChange, { stage, check, by }: CheckedPhase): Promise<void> {
  const { stageId, phaseIndex } = change.record;
  change.record = { ...change.record, atGate: false, turnToFollow: false };
  await setCheck(tx, change, {
    id: tx.newId(),
    stageId,
    phaseIndex,
    phase: stage.pipeline[phaseIndex]?.name ?? '',
    command: check.command,
    timeLimit: check.timeLimit,
    attempts: check.attempts,
    state: 'waiting',
    by,
    failures: change.record.check?.failures ?? 0,
    createdAt: tx.now,
    startedAt: null,
    endedAt: null,
    exitCode: null,
    reason: null,
    commandId: null,
    messageId: null,
    output: '',
  });
}

/** Returns the session's newest check; null if it has none. */
export async function currentCheck(tx: Tx, { record }: SessionChange): Promise<CheckRecord | null> {
  return record.check === null ? null : tx.checks.find(record.check.checkId);
}

/** Ends a check without a result. @param reason a whole sentence */
export async function giveUpCheck(
  tx: Tx,
  change: SessionChange,
  run: CheckRecord,
  { state, reason }: { state: CheckState; reason: string },
): Promise<void> {
  await setCheck(tx, change, { ...run, state, reason, endedAt: tx.now });
  noteCheck(
    tx,
    change,
    state === 'not-started' ? 'error' : 'info',
    `The check of "${run.phase}" has no result: ${reason}`,
  );
}

/**
 * Stops the check, or Claude's review, of a session's phase if one is due or runs; whoever runs it ends its processes when this is committed. Returns whether
 * there was one.
 */
export async function stopCheck(tx: Tx, change: SessionChange, reason: string): Promise<boolean> {
  if (await stopReview(tx, change, reason)) return true;
  if (!isChecking(change.record)) return false;
  const run = await currentCheck(tx, change);
  if (run !== null) await giveUpCheck(tx, change, run, { state: 'stopped', reason });
  return true;
}

/** Adds a notice about a check to the transcript. */
export const noteCheck = (tx: Tx, change: SessionChange, level: Notice['level'], text: string): void =>
  addNotice(change, tx.now, { level, code: 'check', text });
