import type { TextDelta } from '@callboard/contract';
import { createStore, type StoreApi } from 'zustand/vanilla';
import { addDeltas, type LiveText } from './live-text.ts';

/** `connecting` until the first answer; `lost` after a connection broke, until another one holds. */
type Connection = 'connecting' | 'open' | 'lost';

export interface LiveState {
  connection: Connection;
  orchestrator: 'ready' | 'unreachable';
  /** Why this browser is not logged in: its login has ended, or the key of it is gone. Null while it is. */
  loggedOut: 'ended' | 'key-lost' | null;
  /** Commands have not been possible for longer than one that is sent again waits. */
  awayLong: boolean;
  text: LiveText;
}

export type LiveStore = StoreApi<LiveState>;

export const createLiveStore = (): LiveStore =>
  createStore<LiveState>(() => ({
    connection: 'connecting',
    orchestrator: 'ready',
    loggedOut: null,
    awayLong: false,
    text: {},
  }));

/** Whether a command can reach the orchestrator, as far as this page knows. */
export const canCommand = (state: LiveState): boolean =>
  state.connection !== 'lost' && state.orchestrator === 'ready' && state.loggedOut === null;

/** Whether an answer can reach the orchestrator now, or soon: it is sent again while Callboard is away for a moment. */
export const canAnswer = (state: LiveState): boolean =>
  state.loggedOut === null && (canCommand(state) || !state.awayLong);

/** Adds deltas at most once per frame: they come faster than a page can be drawn. */
export function deltaBuffer(store: LiveStore): { add(delta: TextDelta): void; clear(): void } {
  let waiting: TextDelta[] = [];
  let planned = false;
  function flush() {
    planned = false;
    const deltas = waiting;
    waiting = [];
    if (deltas.length > 0) store.setState((state) => ({ text: addDeltas(state.text, deltas) }));
  }
  return {
    add(delta) {
      waiting.push(delta);
      if (planned) return;
      planned = true;
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
