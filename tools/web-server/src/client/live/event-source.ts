import { readMessages } from '@callboard/contract/client';
import { isLoggedOut, refusalOf } from '../lib/api.ts';
import { pageFetch } from '../lib/page-proof.ts';
import { MESSAGE_NAMES, type RawMessage } from './stream-message.ts';

export interface EventStreamOptions {
  /** The newest `seq` that is known, asked before each connection. */
  since: () => number;
  onMessage: (message: RawMessage) => void;
  onOpen: () => void;
  /** The connection is gone; another try follows by itself. `failures` counts the tries in a row. */
  onLost: (failures: number) => void;
}

const RETRY_MS = [250, 500, 1_000, 2_000];
const SLEPT_MS = 60_000;
/** The server says something every 15 seconds, if only that it is there. */
const SILENCE_MS = 45_000;

/**
 * The event stream over one connection, made anew for as long as it takes. Read by `fetch`: a page has to prove itself
 * in a header, which the browser's own `EventSource` cannot send.
 */
export function openEventStream({ since, onMessage, onOpen, onLost }: EventStreamOptions): { close(): void } {
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

  /** Resolves when the server has ended the stream. */
  async function read(current: AbortController): Promise<void> {
    let silence: ReturnType<typeof setTimeout> | undefined;
    const onBytes = () => {
      clearTimeout(silence);
      silence = setTimeout(() => current.abort(), SILENCE_MS);
    };
    onBytes();
    try {
      const response = await pageFetch('/api/events', {
        headers: { accept: 'text/event-stream', 'last-event-id': String(since()) },
        signal: current.signal,
      });
      if (!response.ok) throw await refusalOf(response);
      if (current !== connection || response.body === null) return;
      failures = 0;
      onOpen();
      for await (const fields of readMessages(response.body, onBytes)) {
        if (current !== connection) return;
        const name = fields.get('event');
        // A newer server may say more than this page knows.
        if (name === undefined || !MESSAGE_NAMES.includes(name)) continue;
        onMessage({ name, id: fields.get('id') ?? '', data: fields.get('data') ?? '' });
      }
    } finally {
      clearTimeout(silence);
      current.abort();
    }
  }

  function lost(current: AbortController, error?: unknown): void {
    if (current !== connection) return;
    // Where the login has ended, the board is to find out at once.
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
    // After a sleep the connection may be dead without having said so.
    else if (failures > 0 || Date.now() - hiddenAt > SLEPT_MS) connect();
  };
  window.addEventListener('online', retryNow);
  document.addEventListener('visibilitychange', onVisibility);
  connect();
  return {
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
