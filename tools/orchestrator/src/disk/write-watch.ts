import type { Logger } from '../lib/logger.ts';
import type { StorageError } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';

export interface WriteWatchDeps {
  store: Pick<Store, 'onWrite' | 'probe'>;
  log: Logger;
  /** How often a store that cannot write is probed. */
  retryMs: number;
}

/** Knows whether the store can write, and notices when it can again, even if nothing else writes to it. */
export interface WriteWatch {
  /** Why the store cannot write; null while it can. */
  storageError(): StorageError | null;
  /** Calls the listener on every change. Returns a function that removes it. */
  onChange(listener: (storageError: StorageError | null) => void): () => void;
  stop(): void;
}

export function startWriteWatch({ store, log, retryMs }: WriteWatchDeps): WriteWatch {
  const listeners = new Set<(storageError: StorageError | null) => void>();
  let storageError: StorageError | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isProbing = false;

  /** One at a time: a store that does not answer keeps it waiting. */
  function probe(): void {
    if (isProbing) return;
    isProbing = true;
    const end = () => {
      isProbing = false;
    };
    store.probe().then(end, end);
  }

  function update(now: StorageError | null): void {
    if (now?.text === storageError?.text) return;
    storageError = now;
    clearInterval(timer);
    // The result of the probe is reported to `onWrite`, like that of any other write.
    if (now !== null) timer = setInterval(probe, retryMs).unref();
    if (now === null) log.warn('the store can write again');
    else log.error({ storageError: now.text }, 'the store cannot write');
    for (const listener of listeners) listener(now);
  }

  const unlisten = store.onWrite(update);
  return {
    storageError: () => storageError,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => {
      unlisten();
      clearInterval(timer);
    },
  };
}
