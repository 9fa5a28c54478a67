/** Listeners to one kind of event. */
export interface Emitter<T> {
  /**
   * Calls every listener, in the order in which they subscribed; none that is added or removed meanwhile. One that throws does not keep
   * the others from being called.
   * @throws the first error of a listener, after all were called, unless the emitter was created with `onError`
   */
  emit(event: T): void;
  /** Returns a function that unsubscribes. */
  subscribe(listener: (event: T) => void): () => void;
}

/** @param onError gets the errors of listeners */
export function createEmitter<T = void>(onError?: (error: unknown) => void): Emitter<T> {
  const listeners = new Set<(event: T) => void>();
  return {
    emit(event) {
      const errors: unknown[] = [];
      for (const listener of [...listeners]) {
        if (!listeners.has(listener)) continue;
        try {
          listener(event);
        } catch (error) {
          if (onError === undefined) errors.push(error);
          else onError(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
