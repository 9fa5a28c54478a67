import { boardView, isWorking, type StageId, type StageView } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createNudgedWorker } from '../lib/nudged-worker.ts';
import type { Store } from '../store/store.ts';
import { isReady, planStarts, type StartGate, type StartHolds } from './start-gates.ts';

export interface SchedulerParts {
  store: Pick<Store, 'board' | 'onEvent'>;
  log: Logger;
  maxParallel: number;
  /** False while nothing may start. Call `nudge` when that changes. */
  mayStart: () => boolean;
  /** The first one that refuses a stage names the reason. Call `nudge` when one opens. */
  gates: readonly StartGate[];
  /** Gets what holds stages, after each pass. */
  holds: Pick<StartHolds, 'set'>;
  /** Resolves when the stage's process is up. A start that fails is recorded in its session. */
  start: (stageId: StageId) => Promise<void>;
  /** Stages that wait for a usage limit. Call `nudge` when one is due. */
  waits: {
    isDue: (stage: StageView) => boolean;
    goOn: (stageId: StageId) => Promise<void>;
  };
  /** Stages without a process that go on after a hold, or with a message that had to wait. Call `nudge` when there may be more. */
  deferred: {
    list: () => Promise<readonly StageId[]>;
    goOn: (stageId: StageId) => Promise<void>;
  };
}

/** Starts stages that start automatically. Events are only hints: each pass reads the store. */
export interface Scheduler {
  /** Requests another pass. */
  nudge(): void;
  /** Resolves when no pass is running or due. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** In case a hint was lost. */
const INTERVAL_MS = 30_000;
/** Nothing tells that memory was freed. */
const MEMORY_LOOK_MS = 5_000;
/** The machine that a stage is left to may have no room after all. */
const ELSEWHERE_LOOK_MS = 1_000;

/** Events that can make a stage ready. A session that stops working makes room for one. */
const HINTS: ReadonlySet<string> = new Set(['stage-created', 'stage-updated', 'stage-removed', 'holds-updated']);

export function startScheduler(parts: SchedulerParts): Scheduler {
  const { store, log, maxParallel, mayStart, gates, holds, start, waits, deferred } = parts;
  /** Whether a stage was ready or due in the last pass. If none was, room alone starts nothing: an event that makes one ready is a hint too. */
  let isAnyReady = true;

  let timer: NodeJS.Timeout | undefined;

  function lookAgain(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => passes.nudge(), ms).unref();
  }

  async function pass(): Promise<void> {
    lookAgain(INTERVAL_MS); // first, in case this pass fails
    if (!mayStart()) return holds.set([]); // the board says why
    const { stages } = boardView(await store.board());
    const toGoOn = new Set(await deferred.list());
    const isDue = (stage: StageView) => toGoOn.has(stage.id) || waits.isDue(stage);
    isAnyReady = stages.some((stage) => isReady(stage) || isDue(stage));
    const plan = planStarts(stages, maxParallel, await Promise.all(gates.map((gate) => gate())), isDue);
    holds.set(plan.holds);
    const waitsForMemory = plan.holds.some(({ code }) => code === 'memory');
    if (plan.isAnyElsewhere) lookAgain(ELSEWHERE_LOOK_MS);
    else if (waitsForMemory) lookAgain(MEMORY_LOOK_MS);
    // Together: `start` marks its stage as starting at once, so the next pass does not pick it again.
    await Promise.all([
      ...plan.goOn.map((id) => startOne(id, toGoOn.has(id) ? deferred.goOn : waits.goOn)),
      ...plan.start.map((id) => startOne(id, start)),
    ]);
  }

  async function startOne(stageId: StageId, begin: SchedulerParts['start']): Promise<void> {
    try {
      await begin(stageId);
    } catch (error) {
      // A person was quicker, or the start failed, which its card shows.
      if (error instanceof Rejection) log.info({ stageId, code: error.code }, 'stage not started');
      else log.error({ err: error, stageId }, 'starting a stage failed');
    }
  }

  const passes = createNudgedWorker(pass, (error) => log.error({ err: error }, 'scheduler pass failed'));
  const notWorking = new Set<StageId>();
  const unlisten = store.onEvent(({ type, data }) => {
    if (HINTS.has(type)) passes.nudge();
    if (type !== 'session-updated') return;
    if (isWorking(data.state)) notWorking.delete(data.stageId);
    else if (!notWorking.has(data.stageId)) {
      notWorking.add(data.stageId);
      if (isAnyReady) passes.nudge();
    }
  });
  passes.nudge();
  return {
    nudge: passes.nudge,
    drain: passes.drain,
    stop: async () => {
      unlisten();
      await passes.stop();
      clearTimeout(timer);
    },
  };
}
