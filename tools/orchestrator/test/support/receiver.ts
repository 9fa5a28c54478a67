import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

interface ReceivedCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

type Answer =
  | { status: number; headers?: Record<string, string>; text?: string }
  | ((response: ServerResponse) => void);

/** Somebody else's server, on this machine. */
export interface Receiver {
  readonly url: string;
  readonly received: ReceivedCall[];
  /** What it answers to the next calls; the last one repeats. */
  answer(...next: Answer[]): void;
}

/** Starts a receiver of calls over plain HTTP; closes it when the test is over. */
export async function startReceiver(): Promise<Receiver> {
  const received: ReceivedCall[] = [];
  let answers: Answer[] = [{ status: 204 }];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts).toString() });
      const [next = { status: 204 }] = answers;
      if (answers.length > 1) answers = answers.slice(1);
      if (typeof next === 'function') next(response);
      else response.writeHead(next.status, next.headers).end(next.text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answer(...next) {
      answers = next;
    },
  };
}
