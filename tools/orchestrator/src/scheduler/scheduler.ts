import { boardView, isWorking, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createNudged } from '../lib/wait.ts';
import type { Store } from '../store/store.ts';
import { pickRunnable } from './pick-runnable.ts';

export interface SchedulerParts {
  store: Store;
  log: Logger;
  maxParallel: number;
  /** False while nothing may be started; `nudge` is due when that is over. */
  mayStart: () => boolean;
  /** Resolves when the stage's process is up; a start that fails is recorded in its session. */
  start: (stageId: StageId) => Promise<void>;
}

/** Starts what may start by itself. A notification is a hint; each pass looks at the store. */
export interface Scheduler {
  /** Has it look again, soon. */
  nudge(): void;
  /** Resolves when no pass runs and none is due. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** In case a hint was lost. */
const LOOK_AGAIN_MS = 30_000;

/** What can make a stage ready; room for one is made by a session that works no more. */
const HINTS: ReadonlySet<string> = new Set(['stage-created', 'stage-updated', 'stage-removed']);

export function startScheduler({ store, log, maxParallel, mayStart, start }: SchedulerParts): Scheduler {
  /** Some stage was ready at the last look. What else makes one ready is a hint of its own, so that room alone is none. */
  let doesAnyWait = true;

  async function pass(): Promise<void> {
    if (!mayStart()) return;
    const board = boardView(await store.board());
    doesAnyWait = pickRunnable(board, Number.POSITIVE_INFINITY).length > 0;
    const runnable = pickRunnable(board, maxParallel);
    // Together: `start` marks its stage as starting at once, so the next pass does not pick it again.
    await Promise.all(runnable.map(startOne));
  }

  async function startOne(stageId: StageId): Promise<void> {
    try {
      await start(stageId);
    } catch (error) {
      // A person was quicker, or the start failed, which its card shows.
      if (error instanceof Rejection) log.info({ stageId, code: error.code }, 'a stage was not started');
      else log.error({ err: error, stageId }, 'starting a stage failed');
    }
  }

  const passes = createNudged(pass, (error) => log.error({ err: error }, 'a pass of the scheduler failed'));
  const resting = new Set<StageId>();
  const unlisten = store.onEvent(({ type, data }) => {
    if (HINTS.has(type)) passes.nudge();
    if (type !== 'session-updated') return;
    if (isWorking(data.state)) resting.delete(data.stageId);
    else if (!resting.has(data.stageId)) {
      resting.add(data.stageId);
      if (doesAnyWait) passes.nudge();
    }
  });
  const timer = setInterval(passes.nudge, LOOK_AGAIN_MS).unref();
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
