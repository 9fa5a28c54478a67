import type { Calls } from './call.ts';
import { serviceRoutes } from './routes.ts';
import { type RawMessage, readMessages } from './sse-reader.ts';
import { TransportError } from './transport.ts';

export interface EventStreamOptions {
  /** The last known event; null to begin with the next one. */
  since: number | null;
  signal: AbortSignal;
  /** A stream without data for this long, not even a heartbeat, counts as lost. */
  silenceMs?: number;
  /** Called when the server has accepted the connection. */
  onOpen?: () => void;
}

/** The server sends at least a heartbeat every 15 seconds. */
const SILENCE_MS = 45_000;

/**
 * Yields the messages of one connection until the server ends it.
 * @throws TransportError the refusal, or `network` if the connection is lost or falls silent
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
