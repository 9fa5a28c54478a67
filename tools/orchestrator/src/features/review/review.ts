import { isChecking, isReview, isUnderWay, type SideRun, type SideRunKind, type StageId } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import {
  changeSession,
  openChange,
  type SettleDeps,
  saveChange,
  settlePhase,
} from '../../core/session/change-session.ts';
import { dueSideRun, giveUpSideRun, setSideRun, waitForPerson } from '../../core/session/pipeline.ts';
import { requireNoAlarm } from '../../core/session/requests.ts';
import { requireNotInTerminal } from '../../core/session/rewind-rules.ts';
import type { SessionChange } from '../../core/session/session-change.ts';
import { budgetBefore, isStagePaused } from '../../core/session/spending-limits.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import { onEvents, requireStage, type Store, type Tx } from '../../store/store.ts';
import { type AskedClaude, type AskSteps, endSideRun, interruptSideRun } from './ask-claude.ts';

type ReviewCommands = 'get_side_runs' | 'start_side_run' | 'stop_side_run';

export const reviewCommands = ({ sideRuns }: { sideRuns: SideRuns }): Pick<CommandHandlers, ReviewCommands> => ({
  get_side_runs: async ({ stageId }) => ({ runs: await sideRuns.list(stageId) }),
  start_side_run: async ({ stageId, kind }, { actor }) => ({ run: await sideRuns.start(stageId, kind, actor.name) }),
  stop_side_run: async ({ stageId, runId }, { actor }) => ({ run: await sideRuns.stop(stageId, runId, actor.name) }),
});

/**
 * What Claude is asked beside the conversations of stages. What is due stands in the store; this runs it, and stores the answer with
 * what follows from it. A run that was under way when Callboard ended is interrupted; a person runs it again.
 */
export interface SideRuns {
  /** Newest first. @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<SideRun[]>;
  /**
   * Asks Claude; if the stage's phase is a review that has no result, it is its run.
   * @throws Rejection `unknown_stage`, `no_session`, `no_worktree`, `already_done`, `already_running`, `stage_running`, `session_alarm`, `in_terminal`, `disk_low`
   */
  start(stageId: StageId, kind: SideRunKind, actor: string): Promise<SideRun>;
  /** Stops a run; one that has ended stays as it is. @throws Rejection `unknown_side_run` */
  stop(stageId: StageId, runId: string, actor: string): Promise<SideRun>;
  /** Requests another look at what is due. */
  schedule(): void;
  /** Resolves when none is under way and none is due. */
  drain(): Promise<void>;
  /** Ends what runs, without a result. */
  shutDown(): Promise<void>;
}

export interface SideRunsDeps extends SettleDeps {
  store: Store;
  log: Logger;
  ask: (run: SideRun, steps: AskSteps) => AskedClaude;
  /** Ends what an orchestrator that was killed had running. Returns whether all of it is gone. */
  endLeft: (runId: string, process: ProcessIdentity | null) => Promise<boolean>;
  /** How many run at once. */
  maxParallel: number;
  now: () => Date;
  /** How often to look whether a run that waits for a usage limit is due. */
  limitCheckIntervalMs: number;
  /** Retries work until the store can write, or Callboard stops. */
  untilStored: (work: (tx: Tx) => Promise<void>) => Promise<void>;
}

/** Settles the runs that were under way when Callboard ended, and runs what is due from then on. */
export async function startSideRuns(deps: SideRunsDeps): Promise<SideRuns> {
  const { store, log, maxParallel } = deps;
  const running = new Map<string, AskedClaude>();
  const begun = new Set<string>();
  const all = new Set<Promise<void>>();
  /** A run that was stopped may still be ending when the next one of its stage is due. */
  const oneOfStage = createKeyedMutex();
  let isStopping = false;

  async function runOne({ id, stageId }: SideRun): Promise<void> {
    const run = await store.transact((tx) => claim(tx, id));
    if (run === null || isStopping) return;
    const asked = deps.ask(run, {
      onDiff: (diff) => store.transact((tx) => noteDiff(tx, id, diff)),
      onSpawned: (process) => store.transact((tx) => tx.sideRuns.setProcess(id, process)),
    });
    running.set(id, asked);
    if (isStopping || (await store.read.sideRuns.find(id))?.state !== 'running') asked.stop();
    const end = await asked.ended;
    if (isStopping || end === null) return;
    await deps.untilStored((tx) => settlePhase(tx, deps, stageId, (change) => endSideRun(tx, change, id, end)));
  }

  function begin(run: SideRun): void {
    begun.add(run.id);
    const work = oneOfStage(run.stageId, () => runOne(run))
      .catch((error: unknown) => log.error({ err: error, stageId: run.stageId }, 'asking Claude failed'))
      .finally(() => {
        running.delete(run.id);
        begun.delete(run.id);
        all.delete(work);
        passes.schedule();
      });
    all.add(work);
  }

  async function pass(): Promise<void> {
    const waiting = await store.read.sideRuns.listIn(['waiting']);
    if (waiting.some(({ run }) => run.limitWait !== null)) passes.scheduleIn(deps.limitCheckIntervalMs);
    for (const { run } of waiting) {
      if (isStopping || begun.size >= maxParallel) return;
      if (!begun.has(run.id) && (await isDue(deps, run))) begin(run);
    }
  }

  for (const { run, process } of await store.read.sideRuns.listIn(['running'])) {
    if (!(await deps.endLeft(run.id, process))) log.warn({ id: run.id }, 'some processes of a run could not be ended');
    await store.transact((tx) => settlePhase(tx, deps, run.stageId, (change) => interruptSideRun(tx, change, run)));
  }
  const causes = ['side-run-updated', 'holds-updated', 'stage-updated', 'stage-removed'] as const;
  const passes = createReconciler(pass, (error) => log.error({ err: error }, 'looking for due runs failed'), {
    on: (schedule) => [
      onEvents(store, causes, ({ type, data }) => {
        if (type === 'side-run-updated' && data.state === 'waiting') schedule();
        if (type === 'side-run-updated' && !isUnderWay(data)) running.get(data.id)?.stop();
        if (type === 'holds-updated' || (type === 'stage-updated' && !data.stage.held)) schedule();
        if (type === 'stage-removed') for (const id of begun) void stopIfGone(store, id, running.get(id));
      }),
    ],
  });
  passes.schedule();

  return {
    ...createCommands(store),
    schedule: passes.schedule,
    async drain() {
      do {
        await passes.drain();
        await Promise.all(all);
      } while (all.size > 0);
    },
    async shutDown() {
      isStopping = true;
      await passes.stop();
      for (const asked of running.values()) asked.stop();
      await Promise.all(all);
    },
  };
}

/** Whether a hold or a spent budget keeps a run waiting; it goes on with A wake-up. What a person asks for is begun on hold as well. */
const isTurnPaused = (store: Store, { stageId, by }: SideRun): Promise<boolean> =>
  store.transact(async (tx) => {
    if (by === null && (await isStagePaused(tx, stageId))) return true;
    const record = await tx.sessions.find(stageId);
    return record !== null && (await budgetBefore(tx, record)) !== null;
  });

async function stopIfGone({ read }: Store, id: string, asked: AskedClaude | undefined): Promise<void> {
  if ((await read.sideRuns.find(id)) === null) asked?.stop();
}

/** Not while it waits for a usage limit, nor while something else keeps it waiting. */
const isDue = async ({ store, now }: SideRunsDeps, run: SideRun): Promise<boolean> =>
  (run.limitWait === null || run.limitWait.goesOnAt <= now().toISOString()) && !(await isTurnPaused(store, run));

/** Marks a due run as running, before anything is spawned. Returns null if it is not due any more. */
async function claim(tx: Tx, id: string): Promise<SideRun | null> {
  const run = await tx.sideRuns.find(id);
  if (run === null || run.state !== 'waiting') return null;
  const claimed: SideRun = { ...run, state: 'running', startedAt: tx.now };
  await changeSession(tx, run.stageId, (change) => setSideRun(tx, change, claimed));
  return claimed;
}

/** Records which changes Claude was given. */
async function noteDiff(tx: Tx, id: string, diff: NonNullable<SideRun['diff']>): Promise<void> {
  const run = await tx.sideRuns.find(id);
  if (run !== null) await tx.sideRuns.save({ ...run, diff });
}

/** What people do with runs. */
function createCommands(store: Store): Pick<SideRuns, 'list' | 'start' | 'stop'> {
  return {
    async list(stageId) {
      await requireStage(store.read, stageId);
      return store.read.sideRuns.listOf(stageId);
    },
    start: (stageId, kind, actor) => store.transact((tx) => start(tx, { stageId, kind, actor })),
    stop: (stageId, runId, actor) =>
      store.transact(async (tx) => {
        const run = await requireRun(tx, stageId, runId);
        if (!isUnderWay(run)) return run;
        await changeSession(tx, stageId, async (change) => {
          await giveUpSideRun(tx, change, run, { state: 'stopped', reason: `Stopped by ${actor}.` });
          await waitForPerson(tx, change, run);
        });
        return requireRun(tx, stageId, runId);
      }),
  };
}

async function requireRun(tx: Tx, stageId: StageId, runId: string): Promise<SideRun> {
  const run = await tx.sideRuns.find(runId);
  if (run?.stageId === stageId) return run;
  throw new Rejection('unknown_side_run', `${stageId} has no such review or text; only the newest are kept.`);
}

interface StartOrder {
  stageId: StageId;
  kind: SideRunKind;
  actor: string;
}

async function start(tx: Tx, { stageId, kind, actor }: StartOrder): Promise<SideRun> {
  const stage = await requireStage(tx, stageId);
  if (stage.worktree === null)
    throw new Rejection('no_worktree', `${stageId} has no worktree yet. Start the stage to create one.`);
  if (stage.completedAt !== null) throw new Rejection('already_done', `${stageId} is done. Reopen it first.`);
  const change = await openChange(tx, stageId);
  requireNoAlarm(change.record);
  requireNotInTerminal(change.record);
  const known = (await tx.sideRuns.listOf(stageId)).find((run) => run.kind === kind && isUnderWay(run));
  if (known !== undefined) throw new Rejection('already_running', `Claude is already working on this for ${stageId}.`);
  requireIdle(change);
  const reason = tx.diskPauseReason();
  if (reason !== null) throw new Rejection('disk_low', reason);
  const { phaseIndex, review } = change.record;
  const isOfPhase = kind === 'review' && isReview(stage.pipeline[phaseIndex]) && review?.state !== 'done';
  const run = await dueSideRun(tx, change, { kind, by: actor, isOfPhase });
  await saveChange(tx, change);
  return run;
}

function requireIdle({ record }: SessionChange): void {
  const { stageId, state } = record;
  if (!isChecking(record) && (state === 'idle' || state === 'ended' || state === 'failed')) return;
  const message = `${stageId} is at work (${state}), so its changes are not finished. Ask when it is done.`;
  throw new Rejection('stage_running', message);
}
