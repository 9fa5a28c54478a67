import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { BoardEvent, eventData, looksLikeEvent } from '../events.ts';
import { type StreamEventData, type StreamEventType, streamEventData } from '../http.ts';
import { parsed } from './call.ts';
import { TransportError } from './transport.ts';

/** One message of an event stream, as it came; a field that it does not have is empty. */
export interface RawMessage {
  name: string;
  id: string;
  /** When a stored event was stored. */
  at: string;
  data: string;
}

/** What a message says: a stored event, or one of those that are not stored. */
export type StreamMessage =
  | BoardEvent
  | { [T in StreamEventType]: { type: T; data: StreamEventData<T> } }[StreamEventType];

const Unstored = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stream'), data: streamEventData.stream }),
  z.object({ type: z.literal('orchestrator-status'), data: streamEventData['orchestrator-status'] }),
  z.object({ type: z.literal('resync'), data: streamEventData.resync }),
  z.object({ type: z.literal('notices-updated'), data: streamEventData['notices-updated'] }),
  z.object({ type: z.literal('text-delta'), data: streamEventData['text-delta'] }),
]);

/** Takes the text of a stream, in whatever pieces it comes, and calls `onMessage` for each message that it completes. */
export function createMessageReader(onMessage: (message: RawMessage) => void): (text: string) => void {
  let at = '';
  const parser = createParser({
    onEvent({ event = '', id = '', data }) {
      onMessage({ name: event, id, at, data });
      at = '';
    },
    // A field of ours, which the standard has everybody else pass over.
    onError({ type, field, value }) {
      if (type === 'unknown-field' && field === 'at') at = value ?? '';
    },
  });
  let begun = '';
  return (text) => {
    // Whole lines: the parser throws away what has come of a line as soon as it cannot become a field that it knows.
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) parser.feed(begun + text.slice(0, end));
    begun = (end > 0 ? '' : begun) + text.slice(end);
  };
}

/** The messages of a stream of bytes, whatever the pieces it comes in. `onBytes` is called for comments as well. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<RawMessage, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const messages: RawMessage[] = [];
  const take = createMessageReader((message) => messages.push(message));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      take(decoder.decode(value, { stream: true }));
      yield* messages.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it may have failed already
  }
}

/** Of stored events: `whole`, all of it with its schema; `shape`, the cheap look at what our own server made (decision 062). */
export type EventCheck = 'whole' | 'shape';

/**
 * What a message says; null for one that says nothing to us: it is of a newer server.
 * @throws TransportError `unreadable`
 */
export function readMessage({ name, id, at, data }: RawMessage, check: EventCheck): StreamMessage | null {
  const message: unknown = { type: name, data: parsed(data), seq: Number(id), at };
  if (Object.hasOwn(streamEventData, name)) return readable(Unstored.safeParse(message), name);
  if (!Object.hasOwn(eventData, name)) return null;
  if (check === 'whole') return readable(BoardEvent.safeParse(message), name);
  if (looksLikeEvent(message)) return message;
  throw notUnderstood(name, 'it is not of the shape that it must have');
}

function readable<T>(result: z.ZodSafeParseResult<T>, name: string): T {
  if (result.success) return result.data;
  throw notUnderstood(name, z.prettifyError(result.error));
}

const notUnderstood = (name: string, why: string) =>
  new TransportError(0, 'unreadable', `An event ${name} is not understood: ${why}`);
