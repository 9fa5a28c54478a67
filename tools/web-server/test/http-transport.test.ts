/** Behaviour that only a real connection has: it can be lost. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type ProblemCode, problems } from '@callboard/contract';
import { createHttpTransport, type StreamItem, TransportError } from '@callboard/contract/client';
import { afterEach, expect, it } from 'vitest';
import { WAIT_MS } from '../../../test-support/until.ts';
import { GOOD_TOKEN } from './fake-orchestrator.ts';
import { startHarness } from './harness.ts';
import { stage } from './samples.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

type Options = Partial<Parameters<typeof createHttpTransport>[0]>;

async function start(options: Options = {}) {
  const harness = await startHarness();
  cleanUp.push(harness.stop);
  const origin = await harness.listen();
  return { ...harness, transport: createHttpTransport({ origin, token: GOOD_TOKEN, maxPauseMs: 20, ...options }) };
}

const problem = (code: ProblemCode) => {
  const { status } = problems[code];
  return { type: 'about:blank', title: code, status, code, detail: 'words' };
};

/** A server that is not Callboard. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

function listen(transport: ReturnType<typeof createHttpTransport>, since?: number) {
  const items: StreamItem[] = [];
  const over = new AbortController();
  const ended = (async () => {
    for await (const item of transport.events({ since }, over.signal)) items.push(item);
  })().catch((error: unknown) => error);
  cleanUp.push(() => {
    over.abort();
    return ended;
  });
  const seqs = () => items.flatMap((item) => ('seq' in item ? [item.seq] : []));
  const statuses = () => items.flatMap((item) => (item.type === 'orchestrator-status' ? [item.data.status] : []));
  return { items, seqs, statuses, ended };
}

it('recovers from a lost connection: each event arrives once, and the watched stages are watched again', async () => {
  const { app, orchestrator, transport } = await start();
  await transport.command('watch', { stageIds: [stage.id] });
  const { seqs, statuses, items } = listen(transport);
  await expect.poll(() => orchestrator.inputsOf('watch')).toEqual([{ stageIds: ['STAGE-1'] }]);
  for (let times = 1; times <= 3; times++) {
    orchestrator.emit();
    await expect.poll(() => seqs().length).toBe(2 * times - 1);
    app.server.closeAllConnections();
    orchestrator.emit();
    await expect.poll(() => seqs().length).toBe(2 * times);
    await expect.poll(() => orchestrator.inputsOf('watch').at(-1)).toEqual({ stageIds: ['STAGE-1'] });
  }
  expect(seqs()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(statuses().slice(0, 3)).toEqual(['ready', 'unreachable', 'ready']);
  expect(items.filter(({ type }) => type === 'resync')).toEqual([]);
});

it('opens a stream anew when another web server answers, which knows nothing of it, and says nothing of that', async () => {
  const first = await startHarness();
  const second = await startHarness();
  cleanUp.push(first.stop, second.stop);
  const [before, after] = [await first.listen(), await second.listen()];
  let origin = before;
  const requests: unknown[] = [];
  const transport = createHttpTransport({
    origin: 'http://balancer',
    token: GOOD_TOKEN,
    fetch: (url, init) => {
      requests.push(init.method);
      return fetch(url.replace('http://balancer', origin), init);
    },
  });
  const { seqs, statuses } = listen(transport, 0);
  first.orchestrator.emit();
  await expect.poll(seqs).toEqual([1]);
  await expect.poll(statuses).toEqual(['ready']);

  origin = after;
  second.orchestrator.emit();
  await transport.command('watch', { stageIds: [stage.id] });
  await expect.poll(() => second.orchestrator.inputsOf('watch')).toEqual([{ stageIds: ['STAGE-1'] }]);
  second.orchestrator.emit();
  await expect.poll(seqs).toEqual([1, 2]);
  expect(statuses()).toEqual(['ready']);

  // Servers in turn: one that was opened a moment ago is kept, and told once its server has its turn.
  origin = before;
  requests.length = 0;
  await transport.command('watch', { stageIds: [] });
  second.orchestrator.emit();
  await expect.poll(seqs).toEqual([1, 2, 3]);
  origin = after;
  await expect.poll(() => second.orchestrator.inputsOf('watch').at(-1)).toEqual({ stageIds: [] });
  expect(new Set(requests)).toEqual(new Set(['PUT']));
});

it('tells a stream again what it watches if that failed when it opened', async () => {
  const harness = await startHarness();
  cleanUp.push(harness.stop);
  let failing = 2;
  const transport = createHttpTransport({
    origin: await harness.listen(),
    token: GOOD_TOKEN,
    fetch(url, init) {
      if (init.method !== 'PUT' || failing === 0) return fetch(url, init);
      failing -= 1;
      if (failing === 1) return Promise.reject(new TypeError('fetch failed'));
      return Promise.resolve(Response.json(problem('storage_failed'), { status: 503 }));
    },
  });
  await transport.command('watch', { stageIds: [stage.id] });
  const { statuses } = listen(transport);
  await expect.poll(() => harness.orchestrator.inputsOf('watch')).toEqual([{ stageIds: ['STAGE-1'] }]);
  expect(statuses()).toEqual(['ready']);
});

it('gets no event again after a web server that knew less than the client', async () => {
  const { app, client, orchestrator, transport } = await start();
  orchestrator.emit();
  await expect.poll(client.seq).toBe(1);
  for (let i = 0; i < 3; i++) orchestrator.store(); // by another machine, and this one has not heard of it yet
  const { seqs, statuses, items } = listen(transport, 4); // told by the web server of that machine
  for (let times = 1; times <= 2; times++) {
    await expect.poll(() => statuses().filter((status) => status === 'ready').length).toBe(times);
    app.server.closeAllConnections();
  }
  orchestrator.emit();
  await expect.poll(() => seqs().at(-1)).toBe(5);
  expect(seqs()).toEqual([5]);
  expect(items.filter(({ type }) => type === 'resync')).toEqual([]);
});

it('reopens a stream that is silent for too long', async () => {
  const { orchestrator, transport } = await start({ silenceMs: 50 });
  const { statuses, seqs } = listen(transport, 0);
  await expect
    .poll(() => statuses().slice(statuses().indexOf('ready')).slice(0, 3))
    .toEqual(['ready', 'unreachable', 'ready']);
  orchestrator.emit();
  await expect.poll(seqs).toEqual([1]);
});

it('ends an event stream with the refusal if a retry would not help', async () => {
  const { transport } = await start({ token: 'nobody' });
  expect(await listen(transport).ended).toMatchObject({ name: 'TransportError', status: 401, code: 'not_logged_in' });
});

it('distinguishes an unreachable server from one that is not Callboard', async () => {
  const html = await serve((_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>'));
  const cut = await serve((_request, response) => response.writeHead(200).write('{"seq"', () => response.destroy()));
  const command = (origin: string) => createHttpTransport({ origin }).command('get_board', {});
  await expect(command('http://127.0.0.1:9')).rejects.toMatchObject({ status: 0, code: 'network', isTransient: true });
  await expect(command(cut)).rejects.toMatchObject({ status: 0, code: 'network' });
  await expect(command(html)).rejects.toMatchObject({ status: 502, code: 'unreadable', isTransient: true });
});

it('reads a stream in pieces of any size', async () => {
  const text = `event: stream\ndata: {"streamId":"0198f2d4-7c1e-7000-8000-000000000000","seq":7}\n\n: a comment\n\nretry: 5\n\n
event: some-news\nid: 8\ndata: {}\n\nevent: mode-changed\r\nid: 9\r\nat: 2026-01-02T03:04:05.678Z\r\ndata: {"stageId":"STAGE-1",\r\ndata: "mode":"plän"}\r\n\r\n`;
  const bytes = Buffer.from(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    const body = () => ReadableStream.from(pieces) as ReadableStream<Uint8Array<ArrayBuffer>>; // of Buffers
    const transport = createHttpTransport({ origin: 'http://x', fetch: async () => new Response(body()) });
    const events = transport.events({}, AbortSignal.timeout(WAIT_MS))[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual({
      type: 'mode-changed',
      seq: 9,
      at: '2026-01-02T03:04:05.678Z',
      data: { stageId: 'STAGE-1', mode: 'plän' },
    });
    await events.return?.();
  }
});

it('reports an unknown event instead of skipping it', async () => {
  const text = 'event: mode-changed\nid: 1\nat: 2026-01-02T03:04:05.678Z\ndata: {"nonsense":true}\n\n';
  const transport = createHttpTransport({ origin: 'http://x', fetch: async () => new Response(text) });
  const error = await listen(transport).ended;
  expect(error).toBeInstanceOf(TransportError);
  expect(error).toMatchObject({ code: 'unreadable' });
});
