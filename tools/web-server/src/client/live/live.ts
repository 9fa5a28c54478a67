import type { StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import type { QueryClient } from '@tanstack/react-query';
import { isLoggedOut } from '../lib/api.ts';
import { watchAbsence } from './absence.ts';
import { resync } from './apply-event.ts';
import { createConnection } from './connection.ts';
import { boardQuery } from './queries.ts';
import { createReceiver } from './receive.ts';
import { openSharedStream, type SharedStream } from './shared-stream.ts';
import { createLiveStore, type LiveStore } from './state.ts';
import { countWatchers, createWatching } from './watching.ts';
import { createWholeText } from './whole-text.ts';

export interface Live {
  store: LiveStore;
  /** From now on text of that stage arrives while it is written; ends with the function it returns. */
  watch(stageId: StageId): () => void;
  stop(): void;
}

/** Keeps the query cache true to the server, from the moment the board is loaded. */
export function startLive(cache: QueryClient): Live {
  const store = createLiveStore();
  const watching = createWatching();
  const connection = createConnection(store);
  const stopWatching = watchAbsence(store);
  const whole = createWholeText(store);
  const receiver = createReceiver(cache, store, watching.streamOpened);
  let stream: SharedStream | undefined;
  const watchers = countWatchers((stageIds) => stream?.watch(stageIds));
  const seq = () => cache.getQueryData(boardQuery.queryKey)?.seq ?? 0;

  function onOpen(since: number): void {
    // What streamed meanwhile went to nobody.
    if (connection.opened()) {
      receiver.forgetText();
      for (const stageId of watchers.stageIds()) fetchText(stageId);
    }
    // The stream is held by a tab that knew more than this one: the events between went to nobody.
    if (since > seq()) resync(cache);
  }

  /** Of a session that works; others write nothing. */
  function fetchText(stageId: string): void {
    const stage = cache.getQueryData(boardQuery.queryKey)?.stages.find(({ id }) => id === stageId);
    if (stage?.session?.state === 'busy') void whole.fetch(stageId);
  }

  function onLost(failures: number): void {
    watching.streamLost();
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
      onLost,
      onWatched: watching.want,
    });
    stream.watch(watchers.stageIds());
  }

  function stop(): void {
    unsubscribe();
    connection.stop();
    stopWatching();
    whole.stop();
    stream?.close();
  }

  const unsubscribe = cache.getQueryCache().subscribe(({ query }) => {
    if (isLoggedOut(query.state.error)) {
      store.setState({
        loggedOut:
          query.state.error instanceof TransportError && query.state.error.code === 'page_not_known'
            ? 'key-lost'
            : 'ended',
      });
      stop();
    } else if (query.queryKey[0] === boardQuery.queryKey[0] && query.state.data !== undefined) open();
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
