import type { StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import type { QueryClient } from '@tanstack/react-query';
import { boardQuery } from '../data/queries.ts';
import { recentEventsOf } from '../data/recent-events.ts';
import { isLoggedOut } from '../lib/api-client.ts';
import { setSilent } from '../lib/hung-requests.ts';
import { resync } from './apply-board-event.ts';
import { createConnectionState, watchLongAbsence } from './connection-state.ts';
import { createReceiver } from './receive.ts';
import { openSharedStream, type SharedStream } from './shared-stream.ts';
import { createStreamStore, type StreamStore } from './stream-store.ts';
import { countWatchers, createTextBackfill, createTextSubscription } from './watched-text.ts';

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
