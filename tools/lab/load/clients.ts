import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';

/** A client of the event stream that can stop reading, like a tab whose machine sleeps. */
export interface SlowClient {
  /** Stops reading, for now. */
  pause(): void;
  /** Reads everything sent to it before it was cut off; resolves with the numbers of all its events, once the stream has ended. */
  rest(signal: AbortSignal): Promise<number[]>;
  close(): void;
}

const STREAM_ID = /"streamId":"([^"]+)"/;
const EVENT_ID = /^id: (\d+)$/gm;

/** Opens a stream that watches a stage, and that begins after `since`. */
export async function openSlowClient(
  origin: string,
  token: string,
  stageId: StageId,
  since: number,
): Promise<SlowClient> {
  const headers = { authorization: `Bearer ${token}`, 'last-event-id': String(since) };
  const request = get(`${origin}/api/events`, { headers, agent: false });
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('unreachable');
  response.setEncoding('utf8');
  const parts: string[] = [];
  const ended = new Promise<void>((resolve) => {
    response.once('close', resolve);
    response.on('error', () => resolve()); // cut off in the middle
  });
  response.on('data', (part: string) => parts.push(part));
  while (!STREAM_ID.test(parts.join(''))) await once(response, 'data');
  const [, streamId = ''] = STREAM_ID.exec(parts.join('')) ?? [];
  const watched = await fetch(`${origin}/api/events/${streamId}/watch`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ stageIds: [stageId] }),
  });
  if (!watched.ok) throw new Error(`watching was refused: ${watched.status}`);
  return {
    pause: () => void response.pause(),
    async rest(signal) {
      response.resume();
      await Promise.race([ended, once(signal, 'abort')]);
      signal.throwIfAborted();
      const whole = parts.join('').split('\n\n').slice(0, -1).join('\n'); // the last one may be torn
      return [...whole.matchAll(EVENT_ID)].map(([, id]) => Number(id));
    },
    close: () => void request.destroy(),
  };
}

export interface Reader {
  /** Numbers of events that were due and did not come, or came twice, in words. */
  readonly wrong: string[];
  seq(): number;
  /** Characters of text that arrived while it was being written. */
  characters(): number;
}

/** Reads the event stream as it comes, watching the stage. */
export function startReader(transport: Transport, since: number, signal: AbortSignal): Reader {
  const wrong: string[] = [];
  let seq = since;
  let characters = 0;
  const read = async () => {
    for await (const item of transport.events({ since }, signal)) {
      if (item.type === 'text-delta') characters += item.data.text.length;
      if (item.type === 'resync') wrong.push('a resync');
      if (!('seq' in item)) continue;
      if (item.seq !== seq + 1) wrong.push(`event ${item.seq} where ${seq + 1} was due`);
      seq = item.seq;
    }
  };
  read().catch((error: unknown) => wrong.push(String(error)));
  return { wrong, seq: () => seq, characters: () => characters };
}

/** Whether the numbers rise one by one. */
export const areConsecutive = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number === (numbers[index - 1] ?? 0) + 1);
