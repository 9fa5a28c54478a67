import { type CheckState, isChecking, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { type CheckRecord, textMessage } from '../store/records.ts';
import { requireStage } from '../store/require.ts';
import type { Tx } from '../store/store.ts';
import { requireNoAwaitedTasks } from './background-tasks.ts';
import { endText, failureMessage } from './check-message.ts';
import { currentCheck, dueCheck, giveUpCheck, noteCheck, setCheck } from './checks.ts';
import { passGate, templateValues } from './pipeline.ts';
import { requireNoAlarm } from './session-alarm.ts';
import type { SessionChange } from './session-change.ts';
import { requireNotInTerminal } from './terminal.ts';

/** How a check ended. */
export interface CheckEnd {
  state: Extract<CheckState, 'passed' | 'failed' | 'timed-out' | 'stopped' | 'not-started'>;
  exitCode: number | null;
  /** A whole sentence; null where the exit code says it all. */
  reason: string | null;
  /** The end of its output, as plain text. */
  output: string;
}

/**
 * Stores the result of the check that runs, and what follows from it: the next phase, a message to Claude, or a person's decision.
 * Does nothing if it was stopped meanwhile. All of it is one transaction, so a failure is told exactly once.
 */
export async function endCheck(tx: Tx, change: SessionChange, id: string, end: CheckEnd): Promise<void> {
  const found = await currentCheck(tx, change);
  if (found === null || found.id !== id || found.state !== 'running') return;
  const stage = await requireStage(tx, change.record.stageId);
  const run = { ...found, ...end, endedAt: tx.now };
  const text = `"${run.phase}" (${run.command})`;
  switch (end.state) {
    case 'passed':
      await setCheck(tx, change, { ...run, failures: 0 });
      noteCheck(tx, change, 'info', `The check of ${text} passed.`);
      // Messages that were sent meanwhile go first; after them it is checked again.
      if ((await tx.outbox.countQueued(stage.id)) === 0) await passGate(tx, change, stage);
      return;
    case 'failed':
    case 'timed-out': {
      const failed = { ...run, failures: run.failures + 1 };
      if (failed.failures < run.attempts) return reportFailure(tx, change, failed, null);
      await setCheck(tx, change, failed);
      change.record = { ...change.record, atGate: true };
      const often = failed.failures === 1 ? 'once' : `${failed.failures} times`;
      return noteCheck(
        tx,
        change,
        'warning',
        `The check of ${text} failed ${often}; the last time it ${endText(failed)}.`,
      );
    }
    case 'stopped':
    case 'not-started': {
      const reason = end.reason ?? 'It was stopped.';
      await giveUpCheck(tx, change, run, { state: end.state, reason });
      change.record = { ...change.record, atGate: true };
      return;
    }
    default:
      return end.state satisfies never;
  }
}

/** Queues the message about a failure, ahead of all that waits. */
async function reportFailure(tx: Tx, change: SessionChange, run: CheckRecord, actor: string | null): Promise<void> {
  const { stageId } = change.record;
  const stage = await requireStage(tx, stageId);
  const wireId = tx.newWireId();
  await setCheck(tx, change, { ...run, messageId: wireId });
  change.record = { ...change.record, atGate: false };
  const text = failureMessage(run, stage, await templateValues(tx, change, stage));
  tx.syncFirst(); // as for the prompt of a phase
  const row = { id: tx.newId(), stageId, launchId: null, wireId, actor, createdAt: tx.now };
  await tx.outbox.insert({ ...row, body: textMessage(text) });
  change.queueChanged = true;
}

/** How often in a row a check is run again after a restart: one that crashes Callboard must not do so forever. */
const MAX_AGAIN = 3;

/**
 * Settles a check that ran when Callboard ended. Nobody knows how it would have ended, so it has no result and counts as no failure;
 * it is run again, unless that has happened several times in a row.
 */
export async function interruptCheck(tx: Tx, change: SessionChange, run: CheckRecord): Promise<void> {
  const stage = await requireStage(tx, run.stageId);
  const before = (await tx.checks.listOf(run.stageId)).filter(({ id }) => id !== run.id);
  const inRow = before.findIndex(({ state }) => state !== 'interrupted');
  const isTooOften = (inRow === -1 ? before.length : inRow) >= MAX_AGAIN - 1;
  const { command, timeLimit, attempts } = run;
  const gate = stage.pipeline[run.phaseIndex]?.gate;
  const check = typeof gate === 'object' ? gate.check : { command, timeLimit, attempts };
  const what = isTooOften
    ? `It was ended by a restart of Callboard, ${MAX_AGAIN} times in a row. Run it again when Callboard runs well.`
    : 'It was ended by a restart of Callboard, and is run again.';
  await giveUpCheck(tx, change, run, { state: 'interrupted', reason: what });
  if (isTooOften) change.record = { ...change.record, atGate: true };
  else await dueCheck(tx, change, { stage, check, by: run.by });
}

/** Runs the check of the current phase again, for a person. @throws Rejection `no_check`, `already_running`, `already_done`, `session_alarm`, `in_terminal` */
export async function runCheckAgain(tx: Tx, change: SessionChange, actor: string): Promise<void> {
  const { stageId, phaseIndex, lastTurn } = change.record;
  const stage = await requireStage(tx, stageId);
  requireIdle(change);
  if (stage.completedAt !== null)
    throw new Rejection('already_done', `${stageId} is done. Reopen it, or send it a message.`);
  const gate = stage.pipeline[phaseIndex]?.gate;
  if (typeof gate !== 'object') throw noCheck(stageId);
  if (lastTurn?.outcome !== 'succeeded') {
    const message = `The last turn of ${stageId} did not end well. Send Claude a message; the check runs after its turn.`;
    throw new Rejection('no_check', message);
  }
  await dueCheck(tx, change, { stage, check: gate.check, by: actor });
}

/** Sends the failure of the newest check to Claude once more. @throws Rejection `no_check`, `already_running`, `session_alarm`, `in_terminal` */
export async function sendFailureAgain(tx: Tx, change: SessionChange, actor: string): Promise<void> {
  requireIdle(change);
  const run = await currentCheck(tx, change);
  if (run === null || (run.state !== 'failed' && run.state !== 'timed-out'))
    throw new Rejection(
      'no_check',
      `The newest check of ${change.record.stageId} did not fail, so there is nothing to send.`,
    );
  noteCheck(tx, change, 'info', `${actor} sent the failure of the check to Claude once more.`);
  await reportFailure(tx, change, run, null);
}

function requireIdle({ record }: SessionChange): void {
  requireNoAlarm(record);
  requireNotInTerminal(record);
  if (isChecking(record)) throw new Rejection('already_running', `A check of ${record.stageId} is running already.`);
  requireNoAwaitedTasks(record, 'The check was not started, because work of');
  if (record.state === 'idle' || record.state === 'ended') return;
  const message = `${record.stageId} is at work (${record.state}). Its check runs when Claude is done.`;
  throw new Rejection('already_running', message);
}

const noCheck = (stageId: StageId): Rejection =>
  new Rejection('no_check', `The current phase of ${stageId} has no check. Give it one in the stage's phases.`);
