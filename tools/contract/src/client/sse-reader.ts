import { z } from 'zod';
import { BoardEvent, eventData } from '../events.ts';
import { type StreamEventData, streamEventData } from '../http.ts';
import type { StreamItem } from './transport.ts';
import { TransportError } from './transport.ts';

/** A message of an event stream as text: its fields by name. */
export type SseMessage = ReadonlyMap<string, string>;

/** What a stream begins with: only its reader needs it. */
export interface StreamStart {
  type: 'stream';
  data: StreamEventData<'stream'>;
}

const StreamMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stream'), data: streamEventData.stream }),
  z.object({ type: z.literal('orchestrator-status'), data: streamEventData['orchestrator-status'] }),
  z.object({ type: z.literal('resync'), data: streamEventData.resync }),
  z.object({ type: z.literal('text-delta'), data: streamEventData['text-delta'] }),
]);

/** The messages of a stream of bytes, whatever the pieces it comes in. `onBytes` is called for comments as well. */
export async function* readMessages(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<SseMessage> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const parts = (text + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      text = parts.pop() ?? '';
      for (const part of parts) yield parseMessage(part);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it may have failed already
  }
}

function parseMessage(part: string): SseMessage {
  const fields = new Map<string, string>();
  for (const line of part.split(/\r?\n/)) {
    const [, name, value = ''] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === undefined) continue; // a comment
    const before = name === 'data' ? fields.get(name) : undefined;
    fields.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return fields;
}

/** What a message says; null for one that carries nothing, or that a newer server has and we do not know. */
export function toItem(message: SseMessage): StreamItem | StreamStart | null {
  const type = message.get('event');
  if (type === undefined) return null;
  const data = parseJson(message.get('data') ?? '');
  if (type === 'notices-updated') return null; // whoever wants them asks for the board, which has them
  if (Object.hasOwn(streamEventData, type)) return readable(StreamMessage.safeParse({ type, data }), type);
  if (!Object.hasOwn(eventData, type)) return null;
  const event = { type, data, seq: Number(message.get('id')), at: message.get('at') };
  return readable(BoardEvent.safeParse(event), type);
}

function readable<T>(parsed: z.ZodSafeParseResult<T>, type: string): T {
  if (parsed.success) return parsed.data;
  throw new TransportError(0, 'unreadable', `An event ${type} is not understood: ${z.prettifyError(parsed.error)}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
