import type { BoardEvent, LaunchId } from '@callboard/contract';
import type { Logger } from '../../lib/logger.ts';
import type { OutboxRow } from '../records.ts';
import type { StorageError } from '../storage-failure.ts';
import type { Store } from '../store.ts';
import type { GivenRows } from './tables/outbox-row.ts';

export type Subscribers = ReturnType<typeof createSubscribers>;

/** The listeners of the store. If one throws, the error is logged; the commit stands. */
export function createSubscribers(log: Logger) {
  const eventListeners = new Set<(event: BoardEvent) => void>();
  const writeListeners = new Set<(storageError: StorageError | null) => void>();
  const unsyncedListeners = new Set<() => void>();
  const takers = new Map<LaunchId, (rows: readonly OutboxRow[]) => void>();

  function notify(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      log.error({ err: error }, 'listener failed after a commit');
    }
  }

  function subscribe<L>(listeners: Set<L>): (listener: L) => () => void {
    return (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
  }

  const onGiven: Store['onGiven'] = (launchId, take) => {
    takers.set(launchId, take);
    return () => {
      if (takers.get(launchId) === take) takers.delete(launchId);
    };
  };

  return {
    onEvent: subscribe(eventListeners),
    onWrite: subscribe(writeListeners),
    onUnsynced: subscribe(unsyncedListeners),
    onGiven,
    /** The launches whose rows somebody here writes. */
    takenLaunches: (): LaunchId[] => [...takers.keys()],
    /** Gives each launch its rows, in order. */
    give(given: GivenRows): void {
      const inOrder = [...given.values()].toSorted((a, b) => a.ordinal - b.ordinal);
      for (const [launchId, rows] of Map.groupBy(inOrder, (row) => row.launchId)) {
        const take = launchId === null ? undefined : takers.get(launchId);
        if (take !== undefined) notify(() => take(rows));
      }
    },
    publish(events: readonly BoardEvent[]): void {
      for (const event of events) for (const listener of eventListeners) notify(() => listener(event));
    },
    reportUnsynced(): void {
      for (const listener of unsyncedListeners) notify(listener);
    },
    reportWrite(storageError: StorageError | null): void {
      for (const listener of writeListeners) notify(() => listener(storageError));
    },
    run(hints: readonly (() => void)[]): void {
      for (const hint of hints) notify(hint);
    },
  };
}
