import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** One message of an event stream, unparsed. */
export interface RawMessage {
  event: string;
  /** The number of a stored event. */
  id: number | null;
  /** When a stored event was stored. */
  at: string | null;
  data: string;
}

const MESSAGE = /^event: (.+)\n(?:id: (\d+)\n)?(?:at: (.+)\n)?data: (.*)$/m;

/**
 * Reads an event stream with as little work as possible, so that the bench does not measure the reading.
 * @param credential an API token, or the headers of a page
 */
export async function openRawStream(
  origin: string,
  credential: string | Record<string, string>,
  since: number,
  onMessage: (message: RawMessage) => void,
): Promise<() => void> {
  const shown = typeof credential === 'string' ? { authorization: `Bearer ${credential}` } : credential;
  const headers = { ...shown, 'last-event-id': String(since) };
  const request = get(`${origin}/api/events`, { headers, agent: false });
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response?.statusCode !== 200) throw new Error(`the stream was refused: ${response?.statusCode}`);
  let rest = '';
  response.setEncoding('utf8').on('data', (part: string) => {
    const messages = (rest + part).split('\n\n');
    rest = messages.pop() ?? '';
    for (const text of messages) {
      const [, event = '', id, at = null, data = ''] = MESSAGE.exec(text) ?? [];
      onMessage({ event, id: id === undefined ? null : Number(id), at, data });
    }
  });
  response.on('error', () => undefined);
  return () => void request.destroy();
}
