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

/**
 * The event stream over one connection, made anew for as long as it takes. The browser's own reconnection is not used:
 * it gives up at the first answer that is not a stream, such as the 503 of a server that is starting.
 */
export function openEventStream({ since, onMessage, onOpen, onLost }: EventStreamOptions): { close(): void } {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let closed = false;

  function connect() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(`/api/events?since=${since()}`);
    const current = source;
    current.onopen = () => {
      failures = 0;
      onOpen();
    };
    current.onerror = () => {
      if (closed || current !== source) return;
      current.close();
      failures += 1;
      timer = setTimeout(connect, RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]);
      onLost(failures);
    };
    for (const name of MESSAGE_NAMES) {
      current.addEventListener(name, (event: MessageEvent<string>) =>
        onMessage({ name, id: event.lastEventId, data: event.data }),
      );
    }
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
      closed = true;
      clearTimeout(timer);
      source?.close();
      window.removeEventListener('online', retryNow);
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}
