import { type CheckRun, isChecking, type PhaseRun, type StageId } from '@callboard/contract';
import { changeSession, noSession } from '../domain/change-session.ts';
import { setCheck, stopCheck } from '../domain/checks.ts';
import { endCheck, interruptCheck, runCheckAgain, sendFailureAgain } from '../domain/end-check.ts';
import { releaseStage } from '../domain/holds.ts';
import type { SessionChange } from '../domain/session-change.ts';
import { settlePhase } from '../domain/settle-phase.ts';
import type { Signal } from '../lib/bell.ts';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { CheckRecord, MessageRow } from '../store/records.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import { type CheckCommands, type RunningCheck, runCheck } from './run-check.ts';

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
  outboxSignal: Signal<StageId>;
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

  const passes = createCoalescingWorker(pass, (error) => log.error({ err: error }, 'looking for due checks failed'));
  for (const run of await store.read.checks.listIn(['running'])) {
    await store.transact((tx) => settle(tx, deps, run, (change) => interruptCheck(tx, change, run)));
  }
  const unlisten = store.onEvent(({ type, data }) => {
    if (type !== 'session-updated') return;
    const { check } = data;
    if (check?.state === 'waiting') passes.schedule();
    if (check?.state === 'stopped') running.get(check.checkId)?.stop('a person');
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
      unlisten();
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
  deps: Pick<ChecksDeps, 'outboxSignal' | 'resumeWith'>,
  { stageId, id }: CheckRecord,
  work: (change: SessionChange) => Promise<void>,
): Promise<void> {
  const session = await tx.sessions.find(stageId);
  if (session === null || session.check?.checkId !== id) return;
  await settlePhase(tx, deps, stageId, work);
}

/** What people do with checks. */
function createCheckCommands(deps: ChecksDeps): Pick<Checks, 'list' | 'phases' | 'runAgain' | 'sendAgain' | 'stopOf'> {
  const { store, outboxSignal, resumeWith } = deps;
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
        if (row === undefined) tx.afterCommit(() => outboxSignal.ring(stageId));
        else if (!(await resumeWith(tx, stageId, row))) throw new Rejection('disk_low', tx.diskPauseReason() ?? '');
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
