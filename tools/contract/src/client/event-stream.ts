import type { Calls } from './call.ts';
import { serviceRoutes } from './routes.ts';
import { type RawMessage, readMessages } from './sse-reader.ts';
import { TransportError } from './transport.ts';

export interface EventStreamOptions {
  /** The last event that is known; null to begin with what happens next. */
  since: number | null;
  signal: AbortSignal;
  /** A stream that says nothing for this long, not even a heartbeat, is lost. */
  silenceMs?: number;
  /** The server has taken the connection. */
  onOpen?: () => void;
}

/** The server says something every 15 seconds, if only that it is there. */
const SILENCE_MS = 45_000;

/**
 * The messages of one connection, from its opening until the server ends it.
 * @throws TransportError: the refusal, or `network` where the connection is lost or falls silent
 */
export async function* readEventStream(
  call: Calls['call'],
  { since, signal, silenceMs = SILENCE_MS, onOpen }: EventStreamOptions,
): AsyncGenerator<RawMessage, void> {
  const connection = new AbortController();
  const lost = () => connection.abort(new TransportError(0, 'network', 'The event stream fell silent.'));
  let timer = setTimeout(lost, silenceMs);
  const onBytes = () => {
    clearTimeout(timer);
    timer = setTimeout(lost, silenceMs);
  };
  try {
    const resume: Record<string, string> = since === null ? {} : { 'last-event-id': String(since) };
    const response = await call(
      serviceRoutes.events,
      {},
      { headers: { accept: 'text/event-stream', ...resume }, signal: AbortSignal.any([signal, connection.signal]) },
    );
    onOpen?.();
    if (response.body !== null) yield* readMessages(response.body, onBytes);
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError(0, 'network', 'The event stream was lost.', { cause: error });
  } finally {
    clearTimeout(timer);
    connection.abort();
  }
}
