import { stripVTControlCharacters } from 'node:util';
import {
  type CheckRun,
  type CheckState,
  isChecking,
  type PhaseRun,
  renderTemplate,
  type Stage,
  type StageId,
  type TemplateValues,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { requireNoAwaitedTasks } from '../../core/session/background-tasks.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession, noSession, settlePhase } from '../../core/session/change-session.ts';
import {
  currentCheck,
  dueCheck,
  giveUpCheck,
  noteCheck,
  passGate,
  setCheck,
  stopCheck,
  templateValues,
} from '../../core/session/pipeline.ts';
import { requireNoAlarm } from '../../core/session/requests.ts';
import { requireNotInTerminal } from '../../core/session/rewind-rules.ts';
import type { SessionChange } from '../../core/session/session-change.ts';
import { releaseStage } from '../../core/session/spending-limits.ts';
import type { WorktreeCommands } from '../../core/shell/worktree-commands.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import { type CheckRecord, type MessageRow, textMessage } from '../../store/records.ts';
import { onSessionChange, requireStage, type Store, type Tx } from '../../store/store.ts';

/** The checks of phases. What is due stands in the store; this runs it, and stores what follows. */
export interface Checks {
  /** Newest first. @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<CheckRun[]>;
  /** Oldest first. @throws Rejection `unknown_stage` */
  phases(stageId: StageId): Promise<PhaseRun[]>;
  /** Runs the check of the current phase again. @throws Rejection `no_session`, `no_check`, `already_running`, `already_done`, `session_alarm`, `in_terminal` */
  runAgain(stageId: StageId, actor: string): Promise<void>;
  /** Sends the failure of the newest check to Claude once more. @throws as `runAgain` */
  sendAgain(stageId: StageId, actor: string): Promise<void>;
  /** Stops the check that runs; a person decides then. Returns whether there was one. @throws Rejection `no_session`, `unknown_stage` */
  stopOf(stageId: StageId, actor: string): Promise<boolean>;
  /** Resolves when none is being run and none is due. */
  drain(): Promise<void>;
  /** Ends what runs, without a result: the next start runs it again. */
  stop(): Promise<void>;
}

export interface ChecksDeps {
  store: Store;
  log: Logger;
  commands: CheckCommands;
  /** How many run at once. */
  maxParallel: number;
  /** As `Sessions.resumeWith`. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
  /** Retries work until the store can write, or Callboard stops. */
  untilStored: (work: (tx: Tx) => Promise<void>) => Promise<void>;
}

/** Settles the checks that ran when Callboard ended, and runs what is due from then on. */
export async function startChecks(deps: ChecksDeps): Promise<Checks> {
  const { store, log, maxParallel } = deps;
  const running = new Map<string, RunningCheck>();
  const all = new Set<Promise<void>>();
  /** A check that was stopped may still be ending when the next one of its stage is due. */
  const oneOfStage = createKeyedMutex();
  let isStopping = false;

  async function runOne({ id, stageId }: CheckRecord): Promise<void> {
    let run: CheckRecord | null = null;
    await deps.untilStored(async (tx) => {
      run = await claim(tx, stageId, id);
    });
    if (run !== null && !isStopping) await runClaimed(run);
  }

  async function runClaimed(run: CheckRecord): Promise<void> {
    const { id } = run;
    const check = runCheck(deps.commands, run, (commandId) => deps.untilStored((tx) => link(tx, id, commandId)));
    running.set(id, check);
    if ((await store.read.checks.find(id))?.state !== 'running') check.stop('its stage');
    const end = await check.ended;
    if (isStopping || end === null) return;
    await deps.untilStored((tx) => settle(tx, deps, run, (change) => endCheck(tx, change, id, end)));
  }

  function begin(run: CheckRecord): void {
    const work = oneOfStage(run.stageId, () => runOne(run))
      .catch((error: unknown) => {
        if (!isStopping) log.error({ err: error, stageId: run.stageId }, 'running a check failed');
      })
      .finally(() => {
        running.delete(run.id);
        begun.delete(run.id);
        all.delete(work);
        passes.schedule();
      });
    all.add(work);
  }

  const begun = new Set<string>();

  async function pass(): Promise<void> {
    for (const run of await store.read.checks.listIn(['waiting'])) {
      if (isStopping || begun.size >= maxParallel) return;
      if (begun.has(run.id)) continue;
      begun.add(run.id);
      begin(run);
    }
  }

  for (const run of await store.read.checks.listIn(['running'])) {
    await store.transact((tx) => settle(tx, deps, run, (change) => interruptCheck(tx, change, run)));
  }
  const passes = createReconciler(pass, (error) => log.error({ err: error }, 'looking for due checks failed'), {
    on: (schedule) => [
      onSessionChange(store, ['check'], ({ check }) => {
        if (check?.state === 'waiting') schedule();
        if (check?.state === 'stopped') running.get(check.checkId)?.stop('a person');
      }),
    ],
  });
  passes.schedule();

  const drain = async (): Promise<void> => {
    do {
      await passes.drain();
      await Promise.all(all);
    } while (all.size > 0);
  };
  return {
    ...createCheckCommands(deps),
    drain,
    async stop() {
      isStopping = true;
      await passes.stop();
      for (const check of running.values()) check.stop('Callboard');
      await Promise.all(all);
    },
  };
}

/** Marks a due check as running. Returns null if it is not due any more. */
async function claim(tx: Tx, stageId: StageId, id: string): Promise<CheckRecord | null> {
  const run = await tx.checks.find(id);
  if (run === null || run.state !== 'waiting') return null;
  if ((await tx.sessions.find(stageId))?.check?.checkId !== id) {
    // Otherwise it would be looked at for ever.
    await tx.checks.save({ ...run, state: 'stopped', reason: 'The session went on without it.', endedAt: tx.now });
    return null;
  }
  const claimed: CheckRecord = { ...run, state: 'running', startedAt: tx.now };
  await changeSession(tx, stageId, (change) => setCheck(tx, change, claimed));
  return claimed;
}

/** Records the command of a check, which keeps its output. */
async function link(tx: Tx, id: string, commandId: string): Promise<void> {
  const run = await tx.checks.find(id);
  if (run !== null) await tx.checks.save({ ...run, commandId });
}

/** Changes the session of a check that has ended, and continues with what is queued then. */
async function settle(
  tx: Tx,
  deps: Pick<ChecksDeps, 'resumeWith'>,
  { stageId, id }: CheckRecord,
  work: (change: SessionChange) => Promise<void>,
): Promise<void> {
  const session = await tx.sessions.find(stageId);
  if (session === null || session.check?.checkId !== id) return;
  await settlePhase(tx, deps, stageId, work);
}

/** What people do with checks. */
function createCheckCommands(deps: ChecksDeps): Pick<Checks, 'list' | 'phases' | 'runAgain' | 'sendAgain' | 'stopOf'> {
  const { store, resumeWith } = deps;
  return {
    async list(stageId) {
      await requireStage(store.read, stageId);
      return (await store.read.checks.listOf(stageId)).map(({ output: _, ...run }) => run);
    },
    async phases(stageId) {
      await requireStage(store.read, stageId);
      return store.read.phaseRuns.listOf(stageId);
    },
    runAgain: (stageId, actor) =>
      store.transact(async (tx) => {
        await changeSession(tx, stageId, (change) => runCheckAgain(tx, change, actor));
        await releaseStage(tx, stageId);
      }),
    sendAgain: (stageId, actor) =>
      store.transact(async (tx) => {
        await releaseStage(tx, stageId);
        const { launchId } = await changeSession(tx, stageId, (change) => sendFailureAgain(tx, change, actor));
        const [row] = launchId === null ? await tx.outbox.queueOf(stageId) : [];
        if (row !== undefined && !(await resumeWith(tx, stageId, row)))
          throw new Rejection('disk_low', tx.diskPauseReason() ?? '');
      }),
    async stopOf(stageId, actor) {
      const session = await store.read.sessions.find(stageId);
      if (session === null) throw await noSession(store.read, stageId);
      if (!isChecking(session)) return false;
      return store.transact(async (tx) => {
        let wasChecking = false;
        await changeSession(tx, stageId, async (change) => {
          wasChecking = await stopCheck(tx, change, `Stopped by ${actor}.`);
          if (wasChecking) change.record = { ...change.record, atGate: true };
        });
        return wasChecking;
      });
    },
  };
}

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
async function endCheck(tx: Tx, change: SessionChange, id: string, end: CheckEnd): Promise<void> {
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
async function interruptCheck(tx: Tx, change: SessionChange, run: CheckRecord): Promise<void> {
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
async function runCheckAgain(tx: Tx, change: SessionChange, actor: string): Promise<void> {
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
async function sendFailureAgain(tx: Tx, change: SessionChange, actor: string): Promise<void> {
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

/** How much of a check's output goes to Claude, in characters. */
const MAX_OUTPUT_LENGTH = 12_000;

/** How it ended, as the end of a sentence. */
function endText({ state, exitCode, reason, timeLimit }: CheckRecord): string {
  if (state === 'timed-out') return `did not end within ${formatSeconds(timeLimit)}`;
  if (exitCode !== null) return `ended with exit code ${exitCode}`;
  return reason === null ? 'failed' : `failed: ${reason}`;
}

const formatSeconds = (seconds: number): string =>
  seconds % 60 === 0 ? (seconds === 60 ? 'a minute' : `${seconds / 60} minutes`) : `${seconds} seconds`;

/** Returns the message with which the failure of a check goes to Claude. */
function failureMessage(run: CheckRecord, stage: Stage, values: TemplateValues): string {
  const gate = stage.pipeline[run.phaseIndex]?.gate;
  const own = typeof gate === 'object' ? gate.check.message : undefined;
  return own === undefined ? usualMessage(run) : renderTemplate(own, values);
}

function usualMessage(run: CheckRecord): string {
  const { phase, command, failures, attempts, output } = run;
  const fence = fenceFor(`${command}\n${output}`);
  const left = attempts - failures;
  const often =
    failures < attempts ? ` It has failed ${failures} of ${attempts} times; after ${left} more a person decides.` : '';
  const reported =
    output === '' ? 'It printed nothing.' : `The end of its output:\n\n${fence}text\n${output}\n${fence}`;
  return `The check of the phase "${phase}" did not pass. This command ${endText(run)}:\n\n${fence}sh\n${command}\n${fence}\n\n${reported}\n\nFind the cause and mend it; do not weaken the check.${often} It runs again when you are done.`;
}

/** Returns a fence that is in no line of the text. */
function fenceFor(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  return '`'.repeat(longest + 1);
}

/** What a check needs of the runner of commands in worktrees. */
export type CheckCommands = Pick<WorktreeCommands, 'start' | 'stop' | 'tail'>;

/** A check whose command is being run. */
export interface RunningCheck {
  /** Never rejects. Null: Callboard stops, so there is no result. All its processes are gone. */
  readonly ended: Promise<CheckEnd | null>;
  stop(by: string): void;
}

/** Runs the command of a check. @param onStarted stores which command it is */
function runCheck(
  commands: CheckCommands,
  run: CheckRecord,
  onStarted: (commandId: string) => Promise<void>,
): RunningCheck {
  const { stageId, phase: name, command, by } = run;
  let stoppedBy: string | null = null;
  let commandId: string | null = null;

  function end(): void {
    // This fails only for one that is not running any more, which needs no stop.
    if (commandId !== null && stoppedBy !== null) commands.stop(stageId, commandId, stoppedBy).catch(() => undefined);
  }

  async function work(): Promise<CheckEnd | null> {
    const order = { stageId, kind: 'check', name, command, by } as const;
    const started = await commands.start({ ...order, timeLimitMs: run.timeLimit * 1_000 });
    commandId = started.command.id;
    end();
    await onStarted(commandId);
    const { state, exitCode, reason } = await started.ended;
    const output = await outputOf(commandId);
    if (state === 'interrupted' || state === 'running') return null;
    return { state, exitCode, reason: state === 'failed' && exitCode !== null ? null : reason, output };
  }

  /** Its result counts even if nobody can read what it printed. */
  const outputOf = (id: string): Promise<string> =>
    commands
      .tail({ id, stageId }, 4 * MAX_OUTPUT_LENGTH)
      .then(plainTail, (error: unknown) => `[The output cannot be read: ${messageOf(error)}]`);

  return {
    ended: work().catch((error: unknown) => {
      const reason = error instanceof Rejection ? error.message : `It could not be run: ${messageOf(error)}`;
      return { state: 'not-started', exitCode: null, reason, output: '' };
    }),
    stop(by) {
      stoppedBy ??= by;
      end();
    },
  };
}

/** All control characters except tab and line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/** Returns the end of an output as plain text: without escape sequences, overwritten lines once, and not too long. */
export function plainTail(output: string): string {
  const lines = stripVTControlCharacters(output).replaceAll('\r\n', '\n').split('\n');
  const written = lines.map((line) => line.split('\r').findLast((part) => part !== '') ?? '');
  const text = written.join('\n').replace(CONTROLS, '').trimEnd();
  if (text.length <= MAX_OUTPUT_LENGTH) return text;
  const tail = text.slice(-MAX_OUTPUT_LENGTH);
  return `[...]\n${tail.slice(tail.indexOf('\n') + 1)}`;
}

export interface CheckDeps {
  views: BoardViews;
  checks: Checks;
}

type HandledCommands = 'get_checks' | 'get_phases' | 'run_check' | 'stop_check' | 'send_check';

export function checkCommands({ views, checks }: CheckDeps): Pick<CommandHandlers, HandledCommands> {
  const card = async (stageId: StageId) => ({ stage: await views.stage(stageId) });
  return {
    get_checks: async ({ stageId }) => ({ checks: await checks.list(stageId) }),
    get_phases: async ({ stageId }) => ({ phases: await checks.phases(stageId) }),
    run_check: async ({ stageId }, { actor }) => {
      await checks.runAgain(stageId, actor.name);
      return card(stageId);
    },
    stop_check: async ({ stageId }, { actor }) => {
      if (!(await checks.stopOf(stageId, actor.name)))
        throw new Rejection('no_check', `No check of ${stageId} is running, so there is nothing to stop.`);
      return card(stageId);
    },
    send_check: async ({ stageId }, { actor }) => {
      await checks.sendAgain(stageId, actor.name);
      return card(stageId);
    },
  };
}
