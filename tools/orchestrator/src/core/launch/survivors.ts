import type { LaunchId } from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { BackoffLimits } from '@callboard/runtime/waits';
import { createRetryTimer } from '../../lib/async.ts';
import { endMarked } from '../../platform/process-table.ts';
import type { Logger } from '../../platform/runtime.ts';

/** Processes of ended launches that could not be ended, not even by SIGKILL: another account's, or stuck in the kernel. */
export interface Survivors {
  /** Tries to end what these launches left running, less and less often, until all of it is gone. */
  add(launchIds: readonly LaunchId[]): void;
  /** Tries no more. Resolves when no attempt is running. */
  stop(): Promise<void>;
}

export interface SurvivorsDeps {
  log: Logger;
  graceMs: number;
  /** Nothing of this launch runs any more. */
  onGone: (launchId: LaunchId) => Promise<void>;
  /** Tests use other ones. */
  end?: typeof endMarked;
  pauses?: BackoffLimits;
}

/** A hung file system is back in seconds or in hours. */
const PAUSES = { firstMs: 10_000, maxMs: 600_000 };

export function createSurvivors({ log, graceMs, onGone, end = endMarked, pauses = PAUSES }: SurvivorsDeps): Survivors {
  const left = new Set<LaunchId>();
  let isStopped = false;
  const worker = createReconciler(pass, (error) => log.error({ err: error }, 'ending surviving processes failed'));
  const again = createRetryTimer<LaunchId>(worker.schedule, pauses);

  async function pass(): Promise<void> {
    try {
      for (const launchId of left) {
        if (isStopped) return;
        if (!(await end([launchId], graceMs))) continue;
        await onGone(launchId); // if that is not stored, the next pass finds nothing left, and tries again
        left.delete(launchId);
        log.info({ launchId }, 'surviving processes have ended');
      }
    } finally {
      if (!isStopped) again.attempted(new Set(left));
    }
  }

  return {
    add(launchIds) {
      if (isStopped || launchIds.length === 0) return;
      for (const launchId of launchIds) left.add(launchId);
      log.warn({ launchIds }, 'processes survive SIGKILL, retrying');
      again.attempted(new Set(left));
    },
    stop() {
      isStopped = true;
      again.stop();
      return worker.stop();
    },
  };
}
