import { type BoardEvent, BoardNotices, eventData, looksLikeEvent, TextDelta } from '@callboard/contract';
import { z } from 'zod';

/** One message of the event stream, as it came: the event's name, its id and its data as text. */
export interface RawMessage {
  name: string;
  id: string;
  data: string;
}

const OrchestratorStatus = z.object({ status: z.enum(['ready', 'unreachable']) });
const StreamStart = z.object({ streamId: z.string(), seq: z.int().nonnegative() });

export type StreamMessage =
  | { type: 'event'; event: BoardEvent }
  | { type: 'text-delta'; delta: TextDelta }
  | { type: 'orchestrator-status'; status: 'ready' | 'unreachable' }
  | { type: 'notices-updated'; notices: BoardNotices }
  | { type: 'stream'; streamId: string; seq: number }
  | { type: 'resync' }
  /** Not of a shape that this page knows: what it shows may be out of date. */
  | { type: 'unreadable'; name: string };

/** The names that are listened for. */
export const MESSAGE_NAMES: readonly string[] = [
  ...Object.keys(eventData),
  'text-delta',
  'orchestrator-status',
  'notices-updated',
  'stream',
  'resync',
];

export function parseMessage(raw: RawMessage, now: () => number = Date.now): StreamMessage {
  const data = parseJson(raw.data);
  switch (raw.name) {
    case 'resync':
      return { type: 'resync' };
    case 'text-delta': {
      const parsed = TextDelta.safeParse(data);
      return parsed.success ? { type: 'text-delta', delta: parsed.data } : { type: 'unreadable', name: raw.name };
    }
    case 'orchestrator-status': {
      const parsed = OrchestratorStatus.safeParse(data);
      return parsed.success
        ? { type: 'orchestrator-status', status: parsed.data.status }
        : { type: 'unreadable', name: raw.name };
    }
    case 'notices-updated': {
      const parsed = BoardNotices.safeParse(data);
      return parsed.success
        ? { type: 'notices-updated', notices: parsed.data }
        : { type: 'unreadable', name: raw.name };
    }
    case 'stream': {
      const parsed = StreamStart.safeParse(data);
      return parsed.success ? { type: 'stream', ...parsed.data } : { type: 'unreadable', name: raw.name };
    }
    default: {
      // The stream does not say when an event happened; no fold looks at it.
      const at = new Date(now()).toISOString();
      // Our own server made it by these types: reading it with its schema would cost more than taking it in.
      const event: unknown = { type: raw.name, seq: Number(raw.id), at, data };
      return looksLikeEvent(event) ? { type: 'event', event } : { type: 'unreadable', name: raw.name };
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
