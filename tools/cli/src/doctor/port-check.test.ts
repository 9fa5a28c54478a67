import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { checkPort } from './machine-checks.ts';

const question = { host: '127.0.0.1', flag: '--port', own: null };

/** Starts a server that gives this answer to every request. Resolves with its port. */
async function serve(body: string): Promise<number> {
  const server = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

it('reports a free port, and leaves it free', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  for (let time = 0; time < 2; time++) {
    expect(await checkPort({ ...question, port: address.port })).toMatchObject({ verdict: 'ok' });
  }
});

it('checks nothing for port 0', async () => {
  expect(await checkPort({ ...question, port: 0 })).toMatchObject({ verdict: 'ok', found: 'any free one' });
});

it('accepts a port that the Callboard of the data directory uses', async () => {
  const port = await serve('');
  const check = await checkPort({ ...question, port, own: { pid: 7 } });
  const found = `${port}, used by the Callboard that runs on this data directory (process 7)`;
  expect(check).toEqual({ verdict: 'ok', found, advice: null });
});

it.each([
  ['{"status":"ok"}', 'another program'],
  ['hello', 'another program'],
  ['{"type":"urn:callboard:problem:not_logged_in"}', 'a Callboard with another data directory'],
])('tells who has a port by the answer %s', async (body, who) => {
  const port = await serve(body);
  const { verdict, found, advice } = await checkPort({ ...question, port });
  expect([verdict, found]).toEqual(['problem', `${port} is used by ${who}`]);
  expect(advice).toMatch(/callboard start --port \d+$/);
});

it('reports an address that is not of this machine', async () => {
  const check = await checkPort({ ...question, host: '192.0.2.1', port: 3100 });
  expect(check).toMatchObject({ verdict: 'problem', found: '192.0.2.1 is not an address of this machine' });
});
