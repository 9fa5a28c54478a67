import type { Call } from './call.ts';
import { pause } from './pause.ts';
import { readMessages, toItem } from './sse-reader.ts';
import { type StreamItem, TransportError } from './transport.ts';

export interface HttpEventsParts {
  call: Call;
  /** The last event that is known; null to begin with what happens next. */
  since: number | null;
  signal: AbortSignal;
  silenceMs: number;
  maxPauseMs: number;
  onOpen: (streamId: string) => void;
  onEnd: (streamId: string) => void;
}

const FIRST_PAUSE_MS = 100;
const UNREACHABLE: StreamItem = { type: 'orchestrator-status', data: { status: 'unreachable' } };

/** The events of as many connections as it takes, as one sequence. */
export async function* httpEvents(parts: HttpEventsParts): AsyncGenerator<StreamItem, void> {
  const { signal, maxPauseMs } = parts;
  let { since } = parts;
  let status: string | null = null;
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      for await (const item of oneConnection({ ...parts, since })) {
        pauseMs = FIRST_PAUSE_MS;
        if (item.type === 'stream' || item.type === 'resync') since = item.data.seq;
        else if ('seq' in item) since = item.seq;
        if (item.type === 'stream' || (item.type === 'orchestrator-status' && item.data.status === status)) continue;
        if (item.type === 'orchestrator-status') status = item.data.status;
        yield item;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TransportError) || !error.isTransient) throw error;
    }
    if (signal.aborted) return;
    if (status !== 'unreachable') yield UNREACHABLE;
    status = 'unreachable';
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
  }
}

/** The items of one connection, from its opening to its end; a lost one throws `network`. */
async function* oneConnection({ call, since, signal, silenceMs, onOpen, onEnd }: HttpEventsParts) {
  const connection = new AbortController();
  const lost = () => connection.abort(new TransportError(0, 'network', 'The event stream fell silent.'));
  let timer = setTimeout(lost, silenceMs);
  let streamId: string | null = null;
  try {
    const response = await call('GET', '/api/events', {
      headers: { accept: 'text/event-stream', ...(since === null ? {} : { 'last-event-id': String(since) }) },
      signal: AbortSignal.any([signal, connection.signal]),
    });
    if (response.body === null) return;
    const onBytes = () => {
      clearTimeout(timer);
      timer = setTimeout(lost, silenceMs);
    };
    for await (const message of readMessages(response.body, onBytes)) {
      const item = toItem(message);
      if (item?.type === 'stream') {
        streamId = item.data.streamId;
        onOpen(streamId);
      }
      if (item !== null) yield item;
    }
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError(0, 'network', 'The event stream was lost.', { cause: error });
  } finally {
    clearTimeout(timer);
    connection.abort();
    if (streamId !== null) onEnd(streamId);
  }
}
