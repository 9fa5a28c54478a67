import type { Logger } from '../lib/logger.ts';
import type { StorageTrouble } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';

export interface WriteWatchParts {
  store: Pick<Store, 'onWrite' | 'probe'>;
  log: Logger;
  /** How often a store that cannot write is tried. */
  tryMs: number;
}

/** Knows whether the store can write, and finds out when it can again, also while nobody gives it anything. */
export interface WriteWatch {
  /** Why the store cannot write; null while it can. */
  trouble(): StorageTrouble | null;
  /** Returns how to stop listening. */
  onChange(listener: (trouble: StorageTrouble | null) => void): () => void;
  stop(): void;
}

export function startWriteWatch({ store, log, tryMs }: WriteWatchParts): WriteWatch {
  const listeners = new Set<(trouble: StorageTrouble | null) => void>();
  let trouble: StorageTrouble | null = null;
  let timer: NodeJS.Timeout | undefined;

  function take(now: StorageTrouble | null): void {
    if (now?.words === trouble?.words) return;
    trouble = now;
    clearInterval(timer);
    // How that went is heard like that of any other write.
    if (now !== null) timer = setInterval(() => void store.probe().catch(() => undefined), tryMs).unref();
    if (now === null) log.warn('the store can write again');
    else log.error({ trouble: now.words }, 'the store cannot write');
    for (const listener of listeners) listener(now);
  }

  const unlisten = store.onWrite(take);
  return {
    trouble: () => trouble,
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
