/**
 * Hints by key: "there may be something new for you". A ring that nobody hears is lost, which is no harm, since the
 * store is the truth and whoever starts to listen looks there first.
 */
export interface Bell<K> {
  ring(key: K): void;
  /** Returns how to stop listening. */
  listen(key: K, listener: () => void): () => void;
}

export function createBell<K>(): Bell<K> {
  const listeners = new Map<K, Set<() => void>>();
  return {
    ring: (key) => {
      for (const listener of listeners.get(key) ?? []) listener();
    },
    listen: (key, listener) => {
      const set = listeners.get(key) ?? new Set();
      listeners.set(key, set.add(listener));
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(key) === set) listeners.delete(key);
      };
    },
  };
}
