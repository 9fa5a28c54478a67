import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { post } from './post.ts';

it('ends at once when the server changes the protocol', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // the connection ends in the middle
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const request = { url: `http://127.0.0.1:${port}/`, headers: {}, body: 'x' };
  const rules = { refuse: () => null, timeLimitMs: 60_000 };
  expect(await post(request, rules, new AbortController().signal)).toEqual({
    kind: 'unreached',
    error: '127.0.0.1 could not be reached: it changed the protocol.',
  });
}); // without the listener it never ends
