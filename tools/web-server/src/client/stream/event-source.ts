import { type RawMessage, TransportError } from '@callboard/contract/client';
import { client, isLoggedOut } from '../lib/api-client.ts';

export interface EventStreamOptions {
  /** Returns the newest known `seq`. Called before each connection. */
  since: () => number;
  onMessage: (message: RawMessage) => void;
  onOpen: () => void;
  /** A proxy holds the stream back, and polls take its place; or no longer. */
  onStalled: (isStalled: boolean) => void;
  /** Nothing at all comes from the server, as far as this is known; or something does again. */
  onSilent: (isSilent: boolean) => void;
  /** The connection is gone; it is retried. `failures` counts the attempts in a row. */
  onLost: (failures: number) => void;
}

export interface OpenEventStream {
  /** Ends this connection and opens another at once, if there is one: `onLost(0)`, then `onOpen`. */
  reopen(): void;
  /** Opens another connection unless this one has brought something just now: the device may have slept, or changed its network. */
  check(): void;
  close(): void;
}

const RETRY_MS = [250, 500, 1_000];
/** Longer than from one heartbeat to the next. */
const QUIET_MS = 3_000;

/**
 * Reads the event stream, and reconnects until closed. It uses `fetch` because a page proves itself in a header, which
 * the browser's own `EventSource` cannot send.
 */
export function openEventStream({
  since,
  onMessage,
  onOpen,
  onStalled,
  onSilent,
  onLost,
}: EventStreamOptions): OpenEventStream {
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  /** The last connection was lost, or is held up: the next one polls from its beginning. */
  let isSuspect = false;
  const heard = createStopwatch();

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
      const messages = client.stream({
        since: since(),
        signal: current.signal,
        isSuspect,
        onOpen: () => opened(current),
        onStalled: (isStalled) => stalled(current, isStalled),
        onBytes: heard.restart,
      });
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
    onSilent(false);
    onOpen();
  }

  function stalled(current: AbortController, isStalled: boolean): void {
    if (current !== connection) return;
    isSuspect = isStalled;
    onStalled(isStalled);
  }

  function lost(current: AbortController, error?: unknown): void {
    if (current !== connection) return;
    if (error instanceof TransportError) {
      const isSilent = error.code === 'network';
      isSuspect ||= isSilent;
      onSilent(isSilent);
    }
    // If the login has ended, the board should find out at once.
    failures += isLoggedOut(error) ? 2 : 1;
    timer = setTimeout(connect, RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]);
    onLost(failures);
  }

  function check(): void {
    if (connection === undefined || (failures === 0 && heard.elapsedMs() < QUIET_MS)) return;
    isSuspect = true;
    onSilent(true);
    heard.restart();
    connect();
  }
  const unlisten = onReturn(check);
  connect();
  return {
    reopen() {
      if (connection === undefined || failures > 0) return; // closed, or about to be opened anyway
      onLost(0);
      connect();
    },
    check,
    close() {
      const last = connection;
      connection = undefined;
      clearTimeout(timer);
      last?.abort();
      unlisten();
    },
  };
}

/** Calls when the page is looked at again, or the network is back. Returns how to stop. */
export function onReturn(call: () => void): () => void {
  const ifVisible = () => {
    if (document.visibilityState === 'visible') call();
  };
  window.addEventListener('online', call);
  window.addEventListener('pageshow', call);
  document.addEventListener('visibilitychange', ifVisible);
  return () => {
    window.removeEventListener('online', call);
    window.removeEventListener('pageshow', call);
    document.removeEventListener('visibilitychange', ifVisible);
  };
}

/** Of the time of day, which goes on while a device sleeps. */
function createStopwatch() {
  let since = Date.now();
  return {
    restart: (): void => {
      since = Date.now();
    },
    elapsedMs: (): number => Date.now() - since,
  };
}
