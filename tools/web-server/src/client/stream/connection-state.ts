import { PATIENCE_MS } from '../lib/until-delivered.ts';
import { canCommand, type StreamStore } from './stream-store.ts';

/** A loss that ends within this time is not shown. */
const SHOW_LOSS_AFTER_MS = 700;

/** Shows in the store that the connection is lost, once it has been lost for a moment. */
export function createConnectionState(store: StreamStore) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    /** The connection is open. Returns whether it was lost before. */
    opened(): boolean {
      const wasLost = timer !== undefined;
      clearTimeout(timer);
      timer = undefined;
      store.setState({ connection: 'open' });
      return wasLost;
    },
    lost(): void {
      timer ??= setTimeout(() => store.setState({ connection: 'lost' }), SHOW_LOSS_AFTER_MS);
    },
    stop(): void {
      clearTimeout(timer);
    },
  };
}

/** Sets `awayLong` once Callboard has been away for longer than an answer is resent. Returns how to stop. */
export function watchLongAbsence(store: StreamStore): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = () => {
    if (canCommand(store.getState())) {
      clearTimeout(timer);
      timer = undefined;
      if (store.getState().awayLong) store.setState({ awayLong: false });
    } else {
      timer ??= setTimeout(() => store.setState({ awayLong: true }), PATIENCE_MS);
    }
  };
  const unsubscribe = store.subscribe(check);
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}
