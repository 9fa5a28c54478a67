import type { RawMessage } from '@callboard/contract/client';
import { client, isLoggedOut } from '../lib/api-client.ts';

export interface EventStreamOptions {
  /** Returns the newest known `seq`. Called before each connection. */
  since: () => number;
  onMessage: (message: RawMessage) => void;
  onOpen: () => void;
  /** The connection is gone; it is retried. `failures` counts the attempts in a row. */
  onLost: (failures: number) => void;
}

export interface OpenEventStream {
  /** Ends this connection and opens another at once, if there is one: `onLost(0)`, then `onOpen`. */
  reopen(): void;
  close(): void;
}

const RETRY_MS = [250, 500, 1_000, 2_000];
const SLEPT_MS = 60_000;

/**
 * Reads the event stream, and reconnects until closed. It uses `fetch` because a page proves itself in a header, which
 * the browser's own `EventSource` cannot send.
 */
export function openEventStream({ since, onMessage, onOpen, onLost }: EventStreamOptions): OpenEventStream {
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  function connect(): void {
    clearTimeout(timer);
    connection?.abort();
    const current = new AbortController();
    connection = current;
    read(current).then(
      () => lost(current),
      (error: unknown) => lost(current, error),
    );
  }

  /** Resolves when the server ends the stream. */
  async function read(current: AbortController): Promise<void> {
    try {
      const messages = client.stream({ since: since(), signal: current.signal, onOpen: () => opened(current) });
      for await (const message of messages) {
        if (current !== connection) return;
        onMessage(message);
      }
    } finally {
      current.abort();
    }
  }

  function opened(current: AbortController): void {
    if (current !== connection) return;
    failures = 0;
    onOpen();
  }

  function lost(current: AbortController, error?: unknown): void {
    if (current !== connection) return;
    // If the login has ended, the board should find out at once.
    failures += isLoggedOut(error) ? 2 : 1;
    timer = setTimeout(connect, RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]);
    onLost(failures);
  }

  const retryNow = () => {
    if (failures > 0) connect();
  };
  let hiddenAt = Date.now();
  const onVisibility = () => {
    if (document.visibilityState === 'hidden') hiddenAt = Date.now();
    // After a sleep the connection may be dead without notice.
    else if (failures > 0 || Date.now() - hiddenAt > SLEPT_MS) connect();
  };
  window.addEventListener('online', retryNow);
  document.addEventListener('visibilitychange', onVisibility);
  connect();
  return {
    reopen() {
      if (connection === undefined || failures > 0) return; // closed, or about to be opened anyway
      onLost(0);
      connect();
    },
    close() {
      const last = connection;
      connection = undefined;
      clearTimeout(timer);
      last?.abort();
      window.removeEventListener('online', retryNow);
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}
