/**
 * Wakes listeners by key: "there may be something new for you". A ring without a listener is lost. That is safe because
 * the store holds the data, and a new listener reads the store first.
 */
export interface Signal<K> {
  ring(key: K): void;
  /** Returns a function that removes the listener. */
  listen(key: K, listener: () => void): () => void;
}

export function createSignal<K>(): Signal<K> {
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
