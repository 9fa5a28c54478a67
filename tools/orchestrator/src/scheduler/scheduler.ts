import { type BoardView, boardView, isWorking, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createNudgedWorker } from '../lib/nudged-worker.ts';
import type { Store } from '../store/store.ts';

export interface SchedulerParts {
  store: Store;
  log: Logger;
  maxParallel: number;
  /** False while nothing may start. Call `nudge` when that changes. */
  mayStart: () => boolean;
  /** Resolves when the stage's process is up. A start that fails is recorded in its session. */
  start: (stageId: StageId) => Promise<void>;
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

/** Events that can make a stage ready. A session that stops working makes room for one. */
const HINTS: ReadonlySet<string> = new Set(['stage-created', 'stage-updated', 'stage-removed']);

export function startScheduler({ store, log, maxParallel, mayStart, start }: SchedulerParts): Scheduler {
  /** Whether a stage was ready in the last pass. If none was, room alone starts nothing: an event that makes one ready is a hint too. */
  let isAnyReady = true;

  async function pass(): Promise<void> {
    if (!mayStart()) return;
    const board = boardView(await store.board());
    isAnyReady = pickRunnable(board, Number.POSITIVE_INFINITY).length > 0;
    const runnable = pickRunnable(board, maxParallel);
    // Together: `start` marks its stage as starting at once, so the next pass does not pick it again.
    await Promise.all(runnable.map(startOne));
  }

  async function startOne(stageId: StageId): Promise<void> {
    try {
      await start(stageId);
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
  const timer = setInterval(passes.nudge, INTERVAL_MS).unref();
  passes.nudge();
  return {
    nudge: passes.nudge,
    drain: passes.drain,
    stop: () => {
      unlisten();
      clearInterval(timer);
      return passes.stop();
    },
  };
}

/**
 * Returns the stages to start now, within the limit: the most urgent first, the older first among equals. Sessions that
 * are idle or wait for a person do not count against the limit.
 */
export function pickRunnable({ stages }: Pick<BoardView, 'stages'>, maxParallel: number): StageId[] {
  const working = stages.filter(({ session }) => session !== null && isWorking(session.state)).length;
  return stages
    .filter(({ column, autoStart }) => column === 'ready' && autoStart)
    .toSorted((a, b) => a.priority - b.priority)
    .slice(0, Math.max(0, maxParallel - working))
    .map(({ id }) => id);
}
