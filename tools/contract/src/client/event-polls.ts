import { type RawMessage, readMessages } from './sse-reader.ts';
import { TransportError } from './transport.ts';

/** A poll without an answer is followed by another, so that one goes out soon after the way is back. */
const NEXT_POLL_MS = 1_500;
/** Between two polls that are answered. */
const PAUSE_MS = 150;
/** How long the server keeps a poll open while nothing happens. */
const POLL_WAIT_MS = 2_000;

interface PollDeps {
  ask: (own: AbortSignal, wait: number) => Promise<Response>;
  answered: (messages: readonly RawMessage[]) => Promise<void>;
  /** The server refused a poll. */
  failed: (error: unknown) => void;
}

/** Asks for what has happened, again and again, by streams that end with their first events. */
export function createPolls({ ask, answered, failed }: PollDeps) {
  const open = new Set<AbortController>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Null: not polling. Otherwise, how long the server may keep a poll open. */
  let wait: number | null = null;
  let slowestMs = 0;

  async function read(own: AbortController, waitMs: number): Promise<void> {
    const begunAt = Date.now();
    const { body } = await ask(own.signal, waitMs);
    const messages: RawMessage[] = [];
    if (body !== null) for await (const message of readMessages(body, () => undefined)) messages.push(message);
    slowestMs = Math.max(slowestMs, Date.now() - begunAt - waitMs);
    if (!own.signal.aborted) await answered(messages);
  }

  function poll(): void {
    if (wait === null) return;
    clearTimeout(timer);
    const own = new AbortController();
    open.add(own);
    const [oldest] = open;
    if (open.size > 2) end(oldest);
    timer = setTimeout(poll, NEXT_POLL_MS + wait);
    read(own, wait).then(
      () => {
        if (!open.delete(own)) return;
        clearTimeout(timer);
        timer = setTimeout(poll, PAUSE_MS);
      },
      (error: unknown) => {
        // One that was lost on its way is followed by the next.
        if (open.delete(own) && !(error instanceof TransportError && error.code === 'network')) failed(error);
      },
    );
  }

  function end(own: AbortController | undefined): void {
    if (own === undefined) return;
    open.delete(own);
    own.abort();
  }

  return {
    start(isLong: boolean): void {
      const isRunning = wait !== null;
      wait = isLong ? POLL_WAIT_MS : 0;
      if (!isRunning) poll();
    },
    stop(): void {
      wait = null;
      clearTimeout(timer);
      for (const own of [...open]) end(own);
    },
    slowestMs: () => slowestMs,
  };
}
