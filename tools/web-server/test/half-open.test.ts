import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { bearer, startHarness } from './harness.ts';

async function start(options: Parameters<typeof startHarness>[0]) {
  const harness = await startHarness(options);
  onTestFinished(harness.stop);
  const origin = await harness.listen();
  const { hostname, port } = new URL(origin);
  async function open(text: string): Promise<Socket> {
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (text !== '') socket.write(text);
    socket.resume();
    return socket;
  }
  return { origin, open };
}

const head = (host: string) => `GET /api/board HTTP/1.1\r\nHost: ${host}\r\n`;

it.each([
  ['nothing', () => ''],
  ['half a head', (host: string) => head(host)],
  [
    'half a body',
    (host: string) =>
      `POST /api/login HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  ],
])('limits the connections that have sent %s, and answers other clients', async (_what, sends) => {
  const { origin, open } = await start({ maxHalfOpen: 20 });
  const sockets: Socket[] = [];
  for (let i = 0; i < 60; i++) sockets.push(await open(sends(new URL(origin).host)));
  expect((await fetch(`${origin}/api/board`, { headers: bearer })).status).toBe(200);
  const closed = () => sockets.map((socket) => socket.closed);
  await expect.poll(() => closed().filter(Boolean).length).toBeGreaterThanOrEqual(40);
  expect(closed().slice(0, 40)).toEqual(Array.from({ length: 40 }, () => true)); // the oldest ones
  expect(closed().at(-1)).toBe(false);
});

it('does not count an open stream, or a request that is being answered', async () => {
  const { origin, open } = await start({ maxHalfOpen: 5 });
  const stream = await fetch(`${origin}/api/events`, { headers: bearer });
  const reader = stream.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  for (let i = 0; i < 30; i++) await open('');
  const next = reader?.read();
  expect((await fetch(`${origin}/api/board`, { headers: bearer })).status).toBe(200);
  expect(
    await Promise.race([
      next?.then(
        () => 'ended or read',
        () => 'broken',
      ),
      Promise.resolve('open'),
    ]),
  ).toBe('open');
  await reader?.cancel();
});

it('limits the wait for the head of a request', async () => {
  const { origin, open } = await start({ headersTimeoutMs: 300 });
  const slow = await open(head(new URL(origin).host));
  await once(slow, 'close');
});

it('says nothing to a connection that has sent nothing: a browser opens some ahead, and would take that for its answer', async () => {
  const { origin, open } = await start({ headersTimeoutMs: 300 });
  const [slow, silent] = [await open(head(new URL(origin).host)), await open('')];
  const said = { slow: '', silent: '' };
  slow.on('data', (data) => {
    said.slow += String(data);
  });
  silent.on('data', (data) => {
    said.silent += String(data);
  });
  await Promise.all([once(slow, 'close'), once(silent, 'close')]);
  expect(said).toEqual({ slow: expect.stringContaining('did not arrive in time'), silent: '' });
});
