import { PATIENCE_MS } from '../lib/until-delivered.ts';
import { canCommand, type LiveStore } from './state.ts';

/** Notices when Callboard is away for longer than an answer is sent again. Ends with the function it returns. */
export function watchAbsence(store: LiveStore): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    if (canCommand(store.getState())) {
      clearTimeout(timer);
      timer = undefined;
      if (store.getState().awayLong) store.setState({ awayLong: false });
    } else {
      timer ??= setTimeout(() => store.setState({ awayLong: true }), PATIENCE_MS);
    }
  };
  const unsubscribe = store.subscribe(look);
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}
