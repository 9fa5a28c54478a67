import type { TextDelta } from '@callboard/contract';
import { createStore, type StoreApi } from 'zustand/vanilla';
import { addDeltas, type StreamingText } from './streaming-text.ts';

/** `connecting` until the first answer; `lost` from a broken connection until the next one holds. */
type Connection = 'connecting' | 'open' | 'lost';

/** What the event stream says beside the query cache. */
export interface StreamState {
  connection: Connection;
  orchestrator: 'ready' | 'unreachable';
  /** Why this browser is not logged in: its login has ended, or its key is gone. Null while it is logged in. */
  loggedOut: 'ended' | 'key-lost' | null;
  /** Commands have failed for longer than an answer is resent. */
  awayLong: boolean;
  text: StreamingText;
}

export type StreamStore = StoreApi<StreamState>;

export const createStreamStore = (): StreamStore =>
  createStore<StreamState>(() => ({
    connection: 'connecting',
    orchestrator: 'ready',
    loggedOut: null,
    awayLong: false,
    text: {},
  }));

/** Whether a command can reach the orchestrator, as far as this page knows. */
export const canCommand = (state: StreamState): boolean =>
  state.connection !== 'lost' && state.orchestrator === 'ready' && state.loggedOut === null;

/** Whether an answer can reach the orchestrator now or soon: it is resent during a short absence. */
export const canAnswer = (state: StreamState): boolean =>
  state.loggedOut === null && (canCommand(state) || !state.awayLong);

/** Adds deltas to the store at most once per frame: they arrive faster than a page can be drawn. */
export function deltaBuffer(store: StreamStore): { add(delta: TextDelta): void; clear(): void } {
  let waiting: TextDelta[] = [];
  let isScheduled = false;
  function flush() {
    isScheduled = false;
    const deltas = waiting;
    waiting = [];
    if (deltas.length > 0) store.setState((state) => ({ text: addDeltas(state.text, deltas) }));
  }
  return {
    add(delta) {
      waiting.push(delta);
      if (isScheduled) return;
      isScheduled = true;
      // A hidden page is not drawn and gets no frames.
      if (document.visibilityState === 'visible') requestAnimationFrame(flush);
      else setTimeout(flush, 500);
    },
    clear() {
      waiting = [];
      store.setState({ text: {} });
    },
  };
}
