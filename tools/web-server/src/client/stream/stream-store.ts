import type { LiveNow, SessionNowUpdate, StageId, TextDelta } from '@callboard/contract';
import { createStore, type StoreApi } from 'zustand/vanilla';

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

/** Text that is being streamed and is not in the transcript yet: by stage, blocks in the order they began. */
export type StreamingText = Readonly<Record<string, readonly StreamingBlock[]>>;

/** One block of streaming text. */
export interface StreamingBlock {
  blockId: string;
  kind: 'text' | 'thinking';
  /** The text from `start` on. Text before it arrived while nobody watched; it is missing until fetched. */
  text: string;
  start: number;
  parentToolUseId: string | null;
}

/** Adds deltas in order. A delta that is known already changes nothing. */
export function addDeltas(streaming: StreamingText, deltas: readonly TextDelta[]): StreamingText {
  return deltas.reduce(addDelta, streaming);
}

function addDelta(streaming: StreamingText, delta: TextDelta): StreamingText {
  const { stageId, blockId, kind, text, offset, parentToolUseId } = delta;
  const blocks = streaming[stageId] ?? [];
  const index = blocks.findIndex((block) => block.blockId === blockId);
  const old = blocks[index];
  const next =
    old === undefined
      ? [...blocks, { blockId, kind, text, start: offset, parentToolUseId }]
      : blocks.with(index, { ...old, ...joined(old, { text, start: offset }) });
  return { ...streaming, [stageId]: next };
}

type Span = Pick<StreamingBlock, 'text' | 'start'>;

/** Joins two spans, with their overlap once. If there is a gap between them, only the later one is kept. */
function joined(one: Span, other: Span): Span {
  const [first, second] = one.start <= other.start ? [one, other] : [other, one];
  const overlap = first.start + first.text.length - second.start;
  if (overlap < 0) return second;
  return { start: first.start, text: first.text + second.text.slice(overlap) };
}

/** Removes the blocks that are stored by now. */
export function dropBlocks(streaming: StreamingText, stageId: string, stored: ReadonlySet<string>): StreamingText {
  const blocks = streaming[stageId];
  if (blocks === undefined || !blocks.some((block) => stored.has(block.blockId))) return streaming;
  return { ...streaming, [stageId]: blocks.filter((block) => !stored.has(block.blockId)) };
}

/** Removes all streaming text of a stage. */
export function dropStage(streaming: StreamingText, stageId: string): StreamingText {
  const { [stageId]: _, ...rest } = streaming;
  return rest;
}
