import type { LaunchId } from '@callboard/contract';
import type { Logger } from '../../lib/logger.ts';
import { createCoalescingWorker } from '../../lib/nudged-worker.ts';
import type { Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';

export interface BackgroundSyncDeps {
  store: Pick<Store, 'onUnsynced' | 'sync'>;
  log: Logger;
  /** How long a commit without a sync of its own may wait for one. */
  everyMs: number;
  running: () => readonly Pick<SessionExecutor, 'launch' | 'spool'>[];
}

/**
 * Syncs commits that had no sync of their own: first the spools they came from, so that the store never knows more than
 * the spools hold, then the store. Nothing runs while there is nothing to sync. The store reports a failure like that of any
 * other write, and the sync is retried.
 */
export function startBackgroundSync({ store, log, everyMs, running }: BackgroundSyncDeps): {
  stop(): Promise<void>;
} {
  /** How far each spool was read when it was last synced. */
  let synced = new Map<LaunchId, number>();
  let timer: NodeJS.Timeout | undefined;

  const syncing = createCoalescingWorker(
    async () => {
      const spools = running().map(({ launch, spool }) => ({ id: launch.id, ...spool() }));
      const grown = spools.filter(({ id, readTo }) => readTo !== synced.get(id));
      await store.sync(grown.map(({ path }) => path));
      synced = new Map(spools.map(({ id, readTo }) => [id, readTo]));
    },
    (error) => {
      log.info({ err: error }, 'a background sync failed; retrying');
      due();
    },
  );

  function due(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      syncing.schedule();
    }, everyMs).unref();
  }

  const unlisten = store.onUnsynced(due);
  return {
    stop: () => {
      unlisten();
      clearTimeout(timer);
      timer = undefined;
      return syncing.stop();
    },
  };
}
