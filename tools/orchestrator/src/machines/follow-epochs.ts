import { messageOf } from '@callboard/runtime/errors';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { Store } from '../store/store.ts';

interface EpochDeps {
  store: Pick<Store, 'onEpoch'>;
  log: Logger;
  /** What is kept in memory by the events of the store: each reads it anew. */
  reload: readonly (() => Promise<void>)[];
}

/** The epochs of the store's event log as this machine's services hear of them. */
export interface Epochs {
  /** Calls the listener after a new epoch has begun, once what this machine keeps in memory is read anew. */
  onEpoch: Store['onEpoch'];
  stop(): Promise<void>;
}

/**
 * Reads what is kept in memory anew when the event log has begun anew: the events that would have changed it may be gone, unheard
 * by a machine that was cut off from the database.
 */
export function followEpochs({ store, log, reload }: EpochDeps): Epochs {
  const listeners = new Set<() => void>();
  const worker = createCoalescingWorker(
    async () => {
      await Promise.all(reload.map((read) => read()));
      for (const listener of listeners) listener();
    },
    (error) => log.debug({ reason: messageOf(error) }, 'not read anew: the store is closed'),
  );
  const unlisten = store.onEpoch(worker.schedule);
  return {
    onEpoch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop() {
      unlisten();
      return worker.stop();
    },
  };
}
