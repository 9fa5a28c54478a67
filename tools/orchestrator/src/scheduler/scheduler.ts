import { boardView, isWorking, type StageId, type StageView } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { Store } from '../store/store.ts';
import { isReady, planStarts, type StartDelays, type StartGate } from './start-gates.ts';

export interface SchedulerDeps {
  store: Pick<Store, 'board' | 'onEvent'>;
  log: Logger;
  maxParallel: number;
  /** False while nothing may start. Call `nudge` when that changes. */
  mayStart: () => boolean;
  /** The first one that refuses a stage names the reason. Call `nudge` when one opens. */
  gates: readonly StartGate[];
  /** Gets what holds stages, after each pass. */
  holds: Pick<StartDelays, 'set'>;
  /** Resolves when the stage's process is up. A start that fails is recorded in its session. */
  start: (stageId: StageId) => Promise<void>;
  /** Stages that wait for a usage limit. Call `nudge` when one is due. */
  waits: {
    isDue: (stage: StageView) => boolean;
    resume: (stageId: StageId) => Promise<void>;
  };
  /** Stages without a process that go on after a hold, or with a message that had to wait. Call `nudge` when there may be more. */
  deferred: {
    list: () => Promise<readonly StageId[]>;
    resume: (stageId: StageId) => Promise<void>;
  };
}

/** Starts stages that start automatically. Events are only hints: each pass reads the store. */
export interface Scheduler {
  /** Requests another pass. */
  schedule(): void;
  /** Resolves when no pass is running or due. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** In case a hint was lost. */
const INTERVAL_MS = 30_000;
/** Nothing tells that memory was freed. */
const MEMORY_CHECK_INTERVAL_MS = 5_000;
/** The machine that a stage is left to may have no room after all. */
const ELSEWHERE_CHECK_INTERVAL_MS = 1_000;

/** Events that can make a stage ready. A session that stops working makes room for one. */
const HINTS: ReadonlySet<string> = new Set(['stage-created', 'stage-updated', 'stage-removed', 'holds-updated']);

export function startScheduler(deps: SchedulerDeps): Scheduler {
  const { store, log, maxParallel, mayStart, gates, holds, start, waits, deferred } = deps;
  /** Whether a stage was ready or due in the last pass. If none was, room alone starts nothing: an event that makes one ready is a hint too. */
  let isAnyReady = true;

  let timer: NodeJS.Timeout | undefined;

  function checkAgain(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => passes.schedule(), ms).unref();
  }

  async function pass(): Promise<void> {
    checkAgain(INTERVAL_MS); // first, in case this pass fails
    if (!mayStart()) return holds.set([]); // the board says why
    const { stages } = boardView(await store.board());
    const toResume = new Set(await deferred.list());
    const isDue = (stage: StageView) => toResume.has(stage.id) || waits.isDue(stage);
    isAnyReady = stages.some((stage) => isReady(stage) || isDue(stage));
    const plan = planStarts(stages, maxParallel, await Promise.all(gates.map((gate) => gate())), isDue);
    holds.set(plan.holds);
    const waitsForMemory = plan.holds.some(({ code }) => code === 'memory');
    if (plan.isAnyElsewhere) checkAgain(ELSEWHERE_CHECK_INTERVAL_MS);
    else if (waitsForMemory) checkAgain(MEMORY_CHECK_INTERVAL_MS);
    // Together: `start` marks its stage as starting at once, so the next pass does not pick it again.
    await Promise.all([
      ...plan.resume.map((id) => startOne(id, toResume.has(id) ? deferred.resume : waits.resume)),
      ...plan.start.map((id) => startOne(id, start)),
    ]);
  }

  async function startOne(stageId: StageId, begin: SchedulerDeps['start']): Promise<void> {
    try {
      await begin(stageId);
    } catch (error) {
      // A person was quicker, or the start failed, which its card shows.
      if (error instanceof Rejection) log.info({ stageId, code: error.code }, 'stage not started');
      else log.error({ err: error, stageId }, 'starting a stage failed');
    }
  }

  const passes = createCoalescingWorker(pass, (error) => log.error({ err: error }, 'scheduler pass failed'));
  const notWorking = new Set<StageId>();
  const unlisten = store.onEvent(({ type, data }) => {
    if (HINTS.has(type)) passes.schedule();
    if (type !== 'session-updated') return;
    if (isWorking(data.state)) notWorking.delete(data.stageId);
    else if (!notWorking.has(data.stageId)) {
      notWorking.add(data.stageId);
      if (isAnyReady) passes.schedule();
    }
  });
  passes.schedule();
  return {
    schedule: passes.schedule,
    drain: passes.drain,
    stop: async () => {
      unlisten();
      await passes.stop();
      clearTimeout(timer);
    },
  };
}
