import type { LiveNow, SessionNowUpdate, StageId, TextDelta } from '@callboard/contract';
import { createStore, type StoreApi } from 'zustand/vanilla';
import { addDeltas, type StreamingText } from './streaming-text.ts';

/** `connecting` until the first answer; `lost` from a broken connection until the next one holds. */
type Connection = 'connecting' | 'open' | 'lost';

/** What the event stream says beside the query cache. */
export interface StreamState {
  connection: Connection;
  /** Something between this page and Callboard holds the stream back; polls take its place, without live text. */
  isStalled: boolean;
  orchestrator: 'ready' | 'unreachable';
  /** Why this browser is not logged in: its login has ended, or its key is gone. Null while it is logged in. */
  loggedOut: 'ended' | 'key-lost' | null;
  /** Commands have failed for longer than an answer is resent. */
  awayLong: boolean;
  text: StreamingText;
  /** What Claude does in a session this moment, where that is finer than the session's own `now`. */
  now: Readonly<Record<string, LiveNow>>;
}

export type StreamStore = StoreApi<StreamState>;

export const createStreamStore = (): StreamStore =>
  createStore<StreamState>(() => ({
    connection: 'connecting',
    isStalled: false,
    orchestrator: 'ready',
    loggedOut: null,
    awayLong: false,
    text: {},
    now: {},
  }));

/** Whether a command can reach the orchestrator, as far as this page knows. */
export const canCommand = (state: StreamState): boolean =>
  state.connection !== 'lost' && state.orchestrator === 'ready' && state.loggedOut === null;

/** Whether an answer can reach the orchestrator now or soon: it is resent during a short absence. */
export const canAnswer = (state: StreamState): boolean =>
  state.loggedOut === null && (canCommand(state) || !state.awayLong);

/** Adds what arrives to the store at most once per frame: it arrives faster than a page can be drawn. */
function frameBuffer<T>(flushed: (items: T[]) => void): { add(item: T): void; clear(): void } {
  let waiting: T[] = [];
  let isScheduled = false;
  function flush() {
    isScheduled = false;
    const items = waiting;
    waiting = [];
    if (items.length > 0) flushed(items);
  }
  return {
    add(item) {
      waiting.push(item);
      if (isScheduled) return;
      isScheduled = true;
      // A hidden page is not drawn and gets no frames.
      if (document.visibilityState === 'visible') requestAnimationFrame(flush);
      else setTimeout(flush, 500);
    },
    clear() {
      waiting = [];
    },
  };
}

/** Adds deltas to the store at most once per frame. */
export function deltaBuffer(store: StreamStore): { add(delta: TextDelta): void; clear(): void } {
  const buffer = frameBuffer<TextDelta>((deltas) => store.setState(({ text }) => ({ text: addDeltas(text, deltas) })));
  return {
    add: buffer.add,
    clear() {
      buffer.clear();
      store.setState({ text: {} });
    },
  };
}

/** Keeps in the store what Claude does in each session this moment; changed at most once per frame. */
export function nowBuffer(store: StreamStore): {
  add(update: SessionNowUpdate): void;
  /** The session's own `now` says something else: what was told before is over. */
  drop(stageId: StageId): void;
  clear(): void;
} {
  const buffer = frameBuffer<SessionNowUpdate>((updates) =>
    store.setState(({ now }) => ({ now: withNows(now, updates) })),
  );
  return {
    add: buffer.add,
    drop(stageId) {
      if (store.getState().now[stageId] !== undefined) buffer.add({ stageId, now: null });
    },
    clear() {
      buffer.clear();
      store.setState({ now: {} });
    },
  };
}

function withNows(before: StreamState['now'], updates: readonly SessionNowUpdate[]): StreamState['now'] {
  const all = new Map(Object.entries(before));
  for (const { stageId, now } of updates) {
    if (now === null) all.delete(stageId);
    else all.set(stageId, now);
  }
  return Object.fromEntries(all);
}
