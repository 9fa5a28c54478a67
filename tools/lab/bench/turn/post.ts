import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

const agent = new Agent({ keepAlive: true });

/** Sends JSON over a connection that stays open, as a browser does, and resolves with the text of the reply. */
export async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const content = JSON.stringify(body);
  const length = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(content)) };
  const sending = request(url, { method: 'POST', agent, headers: { ...headers, ...length } });
  sending.end(content);
  const [response]: IncomingMessage[] = await once(sending, 'response');
  if (response === undefined) throw new Error('unreachable');
  const reply = await text(response);
  if ((response.statusCode ?? 500) >= 300) throw new Error(`${url}: ${response.statusCode} ${reply}`);
  return reply;
}
