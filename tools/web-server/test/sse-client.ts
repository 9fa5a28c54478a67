/** A reader of event streams over real HTTP. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { z } from 'zod';
import { bearer } from './harness.ts';

const StreamData = z.object({ streamId: z.string() });

export interface SseEvent {
  event: string;
  id: string | null;
  data: unknown;
}

function parseBlock(block: string): SseEvent | null {
  const fields = new Map(
    block
      .split('\n')
      .filter((line) => !line.startsWith(':'))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  const event = fields.get('event');
  if (event === undefined) return null;
  return { event, id: fields.get('id') ?? null, data: JSON.parse(fields.get('data') ?? 'null') };
}

export async function openStream(url: string, headers: Record<string, string> = {}) {
  const outgoing = request(url, { headers: { ...bearer, ...headers }, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]; // that is what 'response' carries
  const events: SseEvent[] = [];
  let text = '';
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
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== null) events.push(event);
    }
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
