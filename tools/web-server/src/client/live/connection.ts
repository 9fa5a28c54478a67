import type { LiveStore } from './state.ts';

/** A loss that is over within this time is not worth a word. */
const PATIENCE_MS = 700;

/** Says that the connection is lost once it has been so for a moment. */
export function createConnection(store: LiveStore) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    /** Whether there had been a loss. */
    opened(): boolean {
      const wasLost = timer !== undefined;
      clearTimeout(timer);
      timer = undefined;
      store.setState({ connection: 'open' });
      return wasLost;
    },
    lost(): void {
      timer ??= setTimeout(() => store.setState({ connection: 'lost' }), PATIENCE_MS);
    },
    stop(): void {
      clearTimeout(timer);
    },
  };
}
