/** A reader of event streams over real HTTP. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createMessageReader } from '@callboard/contract/client';
import { z } from 'zod';
import { bearer } from './harness.ts';

const StreamData = z.object({ streamId: z.string() });

export interface SseEvent {
  event: string;
  id: string | null;
  data: unknown;
}

export async function openStream(url: string, headers: Record<string, string> = {}) {
  const outgoing = request(url, { headers: { ...bearer, ...headers }, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]; // the value that 'response' carries
  const events: SseEvent[] = [];
  const read = createMessageReader(({ name, id, data }) =>
    events.push({ event: name, id: id === '' ? null : id, data: JSON.parse(data) }),
  );
  let whole = '';
  let closed = false;
  response.setEncoding('utf8');
  response.on('error', () => undefined); // cut off
  outgoing.on('error', () => undefined);
  response.once('close', () => {
    closed = true;
  });
  response.on('data', (chunk: string) => {
    whole += chunk;
    read(chunk);
  });

  return {
    status: response.statusCode,
    headers: response.headers,
    events,
    text: () => whole,
    closed: () => closed,
    /** The ids of the stored events, in the order they came. */
    ids: () => events.flatMap(({ id, event }) => (id === null || event === 'resync' ? [] : [Number(id)])),
    named: (name: string) => events.filter(({ event }) => event === name),
    streamId: () => StreamData.parse(events.find(({ event }) => event === 'stream')?.data).streamId,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void outgoing.destroy(),
  };
}

export type OpenStream = Awaited<ReturnType<typeof openStream>>;
