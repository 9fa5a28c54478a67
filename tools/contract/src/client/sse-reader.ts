import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { BoardEvent, eventData, looksLikeEvent } from '../events.ts';
import { type StreamEventData, type StreamEventType, streamEventData } from '../http.ts';
import { parsed } from './call.ts';
import { TransportError } from './transport.ts';

/** One unparsed message of an event stream; a missing field is empty. */
export interface RawMessage {
  name: string;
  id: string;
  /** When the event was stored. */
  at: string;
  data: string;
}

/** A parsed message: a stored event, or one that is not stored. */
export type StreamMessage =
  | BoardEvent
  | { [T in StreamEventType]: { type: T; data: StreamEventData<T> } }[StreamEventType];

const Unstored = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stream'), data: streamEventData.stream }),
  z.object({ type: z.literal('orchestrator-status'), data: streamEventData['orchestrator-status'] }),
  z.object({ type: z.literal('resync'), data: streamEventData.resync }),
  z.object({ type: z.literal('notices-updated'), data: streamEventData['notices-updated'] }),
  z.object({ type: z.literal('session-now'), data: streamEventData['session-now'] }),
  z.object({ type: z.literal('text-delta'), data: streamEventData['text-delta'] }),
]);

/** Returns a function that takes the text of a stream in pieces of any size, and calls `onMessage` for each complete message. */
export function createMessageReader(onMessage: (message: RawMessage) => void): (text: string) => void {
  let at = '';
  const parser = createParser({
    onEvent({ event = '', id = '', data }) {
      onMessage({ name: event, id, at, data });
      at = '';
    },
    // Our own field, which other clients ignore according to the standard.
    onError({ type, field, value }) {
      if (type === 'unknown-field' && field === 'at') at = value ?? '';
    },
  });
  let begun = '';
  return (text) => {
    // Only whole lines: the parser discards a partial line once it cannot become a known field.
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) parser.feed(begun + text.slice(0, end));
    begun = (end > 0 ? '' : begun) + text.slice(end);
  };
}

/** Yields the messages of a byte stream. Calls `onBytes` for comments as well. */
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

/** How to check stored events: `whole` uses the full schema, `shape` is the cheap check of our own server's data (docs/decisions/api.md). */
export type EventCheck = 'whole' | 'shape';

/**
 * Parses a message; null for an unknown type, which a newer server sent.
 * @throws TransportError `unreadable`
 */
export function readMessage({ name, id, at, data }: RawMessage, check: EventCheck): StreamMessage | null {
  const message: unknown = { type: name, data: parsed(data), seq: Number(id), at };
  if (Object.hasOwn(streamEventData, name)) return readable(Unstored.safeParse(message), name);
  if (!Object.hasOwn(eventData, name)) return null;
  if (check === 'whole') return readable(BoardEvent.safeParse(message), name);
  if (looksLikeEvent(message)) return message;
  throw invalidEvent(name, 'it does not have the expected shape');
}

function readable<T>(result: z.ZodSafeParseResult<T>, name: string): T {
  if (result.success) return result.data;
  throw invalidEvent(name, z.prettifyError(result.error));
}

const invalidEvent = (name: string, why: string) =>
  new TransportError(0, 'unreadable', `The event ${name} is invalid: ${why}`);
