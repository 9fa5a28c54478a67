import { type BoardEvent, isActive, StageId } from '@callboard/contract';
import {
  createStreamWatch,
  type RawMessage,
  readMessage,
  type StreamMessage,
  serviceRoutes,
  TransportError,
} from '@callboard/contract/client';
import type { QueryClient } from '@tanstack/react-query';
import { boardQuery } from '../data/queries.ts';
import { recentEventsOf } from '../data/recent-events.ts';
import { client, isLoggedOut } from '../lib/api-client.ts';
import { setSilent } from '../lib/hung-requests.ts';
import { PATIENCE_MS } from '../lib/until-delivered.ts';
import { applyEvent, applyNotices, createTranscriptFeed, resync } from './apply-board-event.ts';
import { openSharedStream, type SharedStream } from './shared-stream.ts';
import {
  addDeltas,
  canCommand,
  createStreamStore,
  deltaBuffer,
  dropStage,
  nowBuffer,
  type StreamStore,
} from './stream-store.ts';

/** The running event stream of this page. */
export interface BoardStream {
  store: StreamStore;
  /** Receives the stage's text while it is written. Returns how to stop. */
  watch(stageId: StageId): () => void;
  stop(): void;
}

/** Keeps the query cache up to date with the server, from the moment the board is loaded. */
export function startStream(cache: QueryClient): BoardStream {
  const store = createStreamStore();
  let stream: SharedStream | undefined;
  const subscription = createTextSubscription(() => stream?.reopen());
  const connection = createConnectionState(store);
  const stopWatchingAbsence = watchLongAbsence(store);
  const backfill = createTextBackfill(store);
  const receiver = createReceiver(cache, store, subscription.streamOpened);
  const watchers = countWatchers((stageIds) => stream?.watch(stageIds));

  /** The newest event that everything on screen holds. The board alone may be loaded again, and know more. */
  function seq(): number {
    const recent = recentEventsOf(cache);
    if (recent.position() === null) recent.startAfter(cache.getQueryData(boardQuery.queryKey)?.seq ?? 0);
    return recent.position() ?? 0;
  }

  function onOpen(since: number): void {
    // Text that was streamed meanwhile is lost here.
    if (connection.opened()) {
      receiver.forgetText();
      for (const stageId of watchers.stageIds()) fetchText(stageId);
    }
    // Another tab holds the stream and knew more than this one: the events between are lost here.
    if (since > seq()) resync(cache, since);
  }

  /** Only a busy session writes text. */
  function fetchText(stageId: string): void {
    const stage = cache.getQueryData(boardQuery.queryKey)?.stages.find(({ id }) => id === stageId);
    if (stage?.session?.state === 'busy') void backfill.fetch(stageId);
  }

  function onLost(failures: number): void {
    subscription.streamLost();
    connection.lost();
    // A server that refuses the stream may still answer this, or say that the login has ended.
    if (failures > 1) void cache.invalidateQueries({ queryKey: boardQuery.queryKey });
  }

  function open(): void {
    if (stream !== undefined) return;
    stream = openSharedStream({
      since: seq,
      onMessage: receiver.onMessage,
      onOpen,
      onStalled: (isStalled) => store.getState().isStalled !== isStalled && store.setState({ isStalled }),
      onSilent: setSilent,
      onLost,
      onWatched: subscription.want,
    });
    stream.watch(watchers.stageIds());
  }

  function stop(): void {
    unsubscribe();
    connection.stop();
    stopWatchingAbsence();
    backfill.stop();
    stream?.close();
    setSilent(false);
    subscription.streamLost();
  }

  const unsubscribe = cache.getQueryCache().subscribe(({ query }) => {
    const { error, data } = query.state;
    if (isLoggedOut(error)) {
      const isKeyLost = error instanceof TransportError && error.code === 'page_not_known';
      store.setState({ loggedOut: isKeyLost ? 'key-lost' : 'ended' });
      stop();
    } else if (query.queryKey[0] === boardQuery.queryKey[0] && data !== undefined) open();
  });

  return {
    store,
    watch(stageId) {
      watchers.add(stageId, 1);
      fetchText(stageId);
      return () => watchers.add(stageId, -1);
    },
    stop,
  };
}

/** A loss that ends within this time is not shown. */
const SHOW_LOSS_AFTER_MS = 700;

/** Shows in the store that the connection is lost, once it has been lost for a moment. */
function createConnectionState(store: StreamStore) {
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

/** Handles every message of the event stream. `streamOpened` gets the id of each new stream. */
export function createReceiver(cache: QueryClient, store: StreamStore, streamOpened: (streamId: string) => void) {
  const deltas = deltaBuffer(store);
  const nows = nowBuffer(store);
  const feed = createTranscriptFeed(cache, store);

  function onEvent(event: BoardEvent): void {
    applyEvent(cache, event);
    if (event.type === 'transcript-appended') feed.appended(event.data.stageId, event.data.index);
    if (event.type === 'session-updated' && event.data.now?.kind !== 'thinking') nows.drop(event.data.stageId);
    if (event.type === 'session-updated' && !isActive(event.data.state)) {
      // Drops text that was never stored (an interrupted sentence). Stored text gets a moment to arrive first.
      setTimeout(() => store.setState((state) => ({ text: dropStage(state.text, event.data.stageId) })), 1_000);
    }
  }

  function onMessage(raw: RawMessage): void {
    const message = readable(raw);
    if (message === 'unreadable') resync(cache);
    else if (message !== null) take(message);
  }

  function take(message: StreamMessage): void {
    switch (message.type) {
      case 'text-delta':
        deltas.add(message.data);
        break;
      case 'session-now':
        nows.add(message.data);
        break;
      case 'orchestrator-status':
        store.setState({ orchestrator: message.data.status });
        break;
      case 'notices-updated':
        applyNotices(cache, message.data);
        break;
      case 'stream':
        streamOpened(message.data.streamId);
        break;
      case 'resync':
        resync(cache, message.data.seq);
        break;
      default:
        onEvent(message);
    }
  }

  function forgetText(): void {
    deltas.clear();
    nows.clear();
  }

  return { onMessage, forgetText };
}

/** Parses a message. An unreadable one may have meant anything, so what is on screen may be out of date. */
function readable(raw: RawMessage): StreamMessage | 'unreadable' | null {
  try {
    return readMessage(raw, 'shape');
  } catch {
    return 'unreadable';
  }
}

const MAX_PAUSE_MS = 5_000;

/**
 * Tells the server which stages' streaming text this browser wants, for as long as a stream is open. Until that succeeds, text
 * appears once it is complete: no reason for an error message.
 * @param reopen opens the stream anew: another web server answers now than the one that holds it
 */
function createTextSubscription(reopen: () => void) {
  const watch = createStreamWatch({
    put: (streamId, stageIds, signal) => client.call(serviceRoutes.watch, { streamId, stageIds }, { signal }),
    maxPauseMs: MAX_PAUSE_MS,
  });
  let streamId: string | undefined;
  let wanted: string[] = [];

  function streamLost(): void {
    if (streamId !== undefined) watch.ended(streamId);
    streamId = undefined;
  }

  return {
    streamOpened(id: string): void {
      streamLost();
      streamId = id;
      watch.opened(id, reopen);
    },
    streamLost,
    want(stageIds: string[]): void {
      if (stageIds.join() === wanted.join()) return;
      wanted = stageIds;
      void watch.want(stageIds).catch(() => undefined);
    },
  };
}

/** Counts how many components of this page watch each stage, and reports each change of the set. */
function countWatchers(changed: (stageIds: string[]) => void) {
  const watchers = new Map<string, number>();
  function add(stageId: StageId, change: number): void {
    const count = (watchers.get(stageId) ?? 0) + change;
    if (count > 0) watchers.set(stageId, count);
    else watchers.delete(stageId);
    changed([...watchers.keys()]);
  }
  return { add, stageIds: () => [...watchers.keys()] };
}

/**
 * Fetches streaming text from its beginning, for a page that opens or comes back in the middle of a block. If that
 * fails, the rest is shown as it arrives, and the whole text once it is stored.
 */
function createTextBackfill(store: StreamStore) {
  const fetching = new Set<string>();
  /** Blocks without a known beginning. Each is requested once. */
  const requested = new Set<string>();

  async function fetchText(stageId: string): Promise<void> {
    if (fetching.has(stageId)) return;
    fetching.add(stageId);
    try {
      const { blocks } = await client.command('get_live_text', { stageId: StageId.parse(stageId) });
      store.setState(({ text }) => ({ text: addDeltas(text, blocks) }));
    } catch {
      // The rest is shown as it arrives.
    } finally {
      fetching.delete(stageId);
    }
  }

  const unsubscribe = store.subscribe(({ text }, before) => {
    if (text === before.text) return;
    for (const [stageId, blocks] of Object.entries(text)) {
      const incomplete = blocks.filter(({ blockId, start }) => start > 0 && !requested.has(`${blockId} ${start}`));
      for (const { blockId, start } of incomplete) requested.add(`${blockId} ${start}`);
      if (incomplete.length > 0) void fetchText(stageId);
    }
  });

  return { fetch: fetchText, stop: unsubscribe };
}
