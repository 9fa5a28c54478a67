import { Socket } from 'node:net';
import { CLAUDE_UNCHECKED, SANDBOX_UNTRIED } from '@callboard/contract';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { WAIT_MS } from '../../../test-support/until.ts';
import { bearer, type HarnessOptions, startHarness } from './harness.ts';
import { newBrowser } from './log-in.ts';
import { modeChanged, stage } from './samples.ts';
import { type OpenStream, openStream } from './sse-client.ts';

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

async function start(options: HarnessOptions = {}) {
  const harness = await startHarness(options);
  cleanUp.push(harness.stop);
  const address = await harness.listen();
  async function stream(query = '', headers: Record<string, string> = {}): Promise<OpenStream> {
    const opened = await openStream(`${address}/api/events${query}`, headers);
    cleanUp.push(opened.close);
    return opened;
  }
  const watch = (streamId: string, stageIds: string[]) =>
    fetch(`${address}/api/events/${streamId}/watch`, {
      method: 'PUT',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: JSON.stringify({ stageIds }),
    });
  return { ...harness, address, stream, watch };
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => i + first);

it('begins with its id and the number from which it continues, then passes on new events', async () => {
  const { orchestrator, stream } = await start({ prepare: (fake) => void fake.store() });
  const opened = await stream();
  expect(opened.status).toBe(200);
  expect(opened.headers['content-type']).toBe('text/event-stream');
  expect(opened.headers['content-security-policy']).toContain("default-src 'self'");
  await expect.poll(() => opened.events.length).toBe(3);
  orchestrator.emit();
  await expect
    .poll(() => opened.events)
    .toEqual([
      { event: 'stream', id: null, data: { streamId: expect.any(String), seq: 1, heartbeatMs: 60_000 } },
      { event: 'orchestrator-status', id: null, data: { status: 'ready' } },
      {
        event: 'notices-updated',
        id: null,
        data: {
          warnings: [],
          paused: null,
          startHolds: [],
          budgets: [],
          sandbox: SANDBOX_UNTRIED,
          claude: CLAUDE_UNCHECKED,
        },
      },
      { event: 'mode-changed', id: '2', data: modeChanged(2).data },
    ]);
});

it('replays events after Last-Event-ID, over many pages, without gap or duplicate', async () => {
  const { orchestrator, stream } = await start();
  for (let i = 0; i < 1_700; i++) orchestrator.store();
  orchestrator.emit();
  const opened = await stream('', { 'Last-Event-ID': '3' });
  for (let i = 0; i < 20; i++) orchestrator.emit();
  await expect.poll(opened.ids).toEqual(upTo(1_721, 4));
  expect(opened.named('stream')).toMatchObject([{ data: { seq: 3 } }]);
});

it('gives a client that knows more than this web server only what follows', async () => {
  const { orchestrator, stream, client } = await start();
  for (let i = 0; i < 3; i++) orchestrator.emit();
  await expect.poll(client.seq).toBe(3);
  for (let i = 0; i < 3; i++) orchestrator.store(); // by another machine, and this one has not heard of it yet
  const opened = await stream('', { 'Last-Event-ID': '6' });
  await expect.poll(() => opened.named('stream')).toMatchObject([{ data: { seq: 6 } }]);
  orchestrator.emit();
  await expect.poll(opened.ids).toEqual([7]);
  expect(opened.named('resync')).toEqual([]);
});

it('accepts ?since= where a browser cannot set a header', async () => {
  const { orchestrator, stream } = await start();
  for (let i = 0; i < 5; i++) orchestrator.emit();
  const opened = await stream('?since=2');
  await expect.poll(opened.ids).toEqual([3, 4, 5]);
  expect((await stream('?since=two')).status).toBe(400);
});

it('keeps live events in order while the replay is still being read', async () => {
  const { orchestrator, stream } = await start();
  for (let i = 0; i < 5; i++) orchestrator.emit();
  const answered = Promise.withResolvers<void>();
  const readEvents = orchestrator.handlers.get_events;
  orchestrator.handlers.get_events = async (input) => {
    const page = await readEvents?.(input);
    await answered.promise;
    return page ?? { events: [], resync: true };
  };
  const opened = await stream('?since=0');
  await expect.poll(() => orchestrator.inputsOf('get_events').length).toBe(1);
  for (let i = 0; i < 5; i++) orchestrator.emit();
  answered.resolve();
  await expect.poll(opened.ids).toEqual(upTo(10));
  orchestrator.emit();
  await expect.poll(opened.ids).toEqual(upTo(11));
});

it('requests one page ahead of a client that does not read, and no more', async () => {
  const { orchestrator, stream, client } = await start();
  const perPage = 200; // of 100 kB each: far more than the kernel accepts for a socket that nobody reads
  for (let i = 0; i < 3 * perPage; i++) orchestrator.store(100_000);
  orchestrator.emit();
  await expect.poll(client.seq).toBe(3 * perPage + 1);
  orchestrator.received.length = 0;
  const readEvents = orchestrator.handlers.get_events;
  orchestrator.handlers.get_events = (input) =>
    readEvents?.({ ...input, limit: perPage }) ?? { events: [], resync: true };
  const asked = () =>
    orchestrator.inputsOf('get_events').map((input) => z.object({ since: z.int() }).parse(input).since);
  const slow = await stream('?since=0');
  slow.pause();
  await expect.poll(asked).toEqual([0, perPage]);

  const quick = await stream('?since=0');
  await expect.poll(quick.ids).toEqual(upTo(3 * perPage + 1));
  expect(asked().filter((since) => since > perPage)).toEqual([2 * perPage, 3 * perPage]); // for the quick client alone
  slow.resume();
  await expect.poll(slow.ids).toEqual(upTo(3 * perPage + 1));
});

it('shows each event once across a restart of the orchestrator', async () => {
  const { orchestrator, stream, client } = await start();
  const first = await stream();
  orchestrator.emit();
  await expect.poll(first.ids).toEqual([1]);
  await orchestrator.kill();
  await expect.poll(() => first.named('orchestrator-status').at(-1)?.data).toEqual({ status: 'unreachable' });
  expect((await stream('?since=0')).status).toBe(503); // its credential cannot be checked now
  for (let i = 0; i < 700; i++) orchestrator.store();
  await orchestrator.start();
  await client.whenReady(AbortSignal.timeout(WAIT_MS));
  orchestrator.emit();
  await expect.poll(first.ids).toEqual(upTo(702));
  expect(first.named('orchestrator-status').map(({ data }) => data)).toEqual([
    { status: 'ready' },
    { status: 'unreachable' },
    { status: 'ready' },
  ]);
});

it('continues the replay when the connection ends in the middle of it', async () => {
  const { orchestrator, stream, client } = await start();
  for (let i = 0; i < 1_200; i++) orchestrator.store();
  orchestrator.emit();
  await expect.poll(client.seq).toBe(1_201);
  orchestrator.received.length = 0;
  const readEvents = orchestrator.handlers.get_events;
  orchestrator.handlers.get_events = (input) => {
    if (orchestrator.inputsOf('get_events').length === 2) orchestrator.dropConnections();
    return readEvents?.(input) ?? { events: [], resync: true };
  };
  const opened = await stream('?since=0');
  await expect.poll(opened.ids).toEqual(upTo(1_201));
});

it.each([
  ['the requested events are no longer kept', '?since=1', 1],
  ['the client is ahead of the log', '?since=99', 99],
])('sends resync with the current number when %s', async (_, query, since) => {
  const { orchestrator, stream } = await start();
  for (let i = 0; i < 9; i++) orchestrator.emit();
  orchestrator.prune(5);
  const opened = await stream(query);
  await expect.poll(() => opened.named('resync')).toEqual([{ event: 'resync', id: '9', data: { seq: 9 } }]);
  expect(opened.named('stream')).toMatchObject([{ data: { seq: since } }]);
  orchestrator.emit();
  await expect.poll(opened.ids).toEqual([10]);
});

it('passes resync on to open streams when the orchestrator begins a new log', async () => {
  const { orchestrator, stream } = await start();
  for (let i = 0; i < 3; i++) orchestrator.emit();
  const opened = await stream('?since=3');
  await orchestrator.kill();
  orchestrator.startOver();
  orchestrator.store();
  await orchestrator.start();
  await expect.poll(() => opened.named('resync')).toEqual([{ event: 'resync', id: '1', data: { seq: 1 } }]);
  orchestrator.emit();
  await expect.poll(opened.ids).toEqual([2]);
});

it('passes on the board’s notices, and sends them to streams that begin later', async () => {
  const { orchestrator, stream } = await start();
  const first = await stream();
  const machine = { startHolds: [], budgets: [], sandbox: SANDBOX_UNTRIED, claude: CLAUDE_UNCHECKED };
  const full = { warnings: [], paused: 'The disk is nearly full.', ...machine };
  orchestrator.notices(full);
  await expect.poll(() => first.named('notices-updated').at(-1)?.data).toEqual(full);
  const second = await stream();
  await expect.poll(() => second.named('notices-updated').map(({ data }) => data)).toEqual([full]);
});

it('sends text only to the streams that watch its stage, even after a reconnect', async () => {
  const { orchestrator, stream, watch } = await start();
  const [first, second] = [await stream(), await stream()];
  await expect.poll(() => first.events.length + second.events.length).toBe(6);
  expect((await watch(first.streamId(), ['STAGE-1', 'STAGE-2'])).status).toBe(204);
  expect((await watch(second.streamId(), ['STAGE-2', 'STAGE-3'])).status).toBe(204);
  expect(orchestrator.inputsOf('watch').at(-1)).toEqual({ stageIds: ['STAGE-1', 'STAGE-2', 'STAGE-3'] });

  const delta = {
    stageId: stage.id,
    blockId: 'b',
    kind: 'text' as const,
    text: 'Hel',
    offset: 0,
    parentToolUseId: null,
  };
  orchestrator.textDelta(delta);
  await expect.poll(() => first.named('text-delta')).toEqual([{ event: 'text-delta', id: null, data: delta }]);
  expect(second.named('text-delta')).toEqual([]);

  orchestrator.received.length = 0;
  orchestrator.dropConnections();
  await expect.poll(() => orchestrator.inputsOf('watch')).toEqual([{ stageIds: ['STAGE-1', 'STAGE-2', 'STAGE-3'] }]);

  first.close();
  await expect.poll(() => orchestrator.inputsOf('watch').at(-1)).toEqual({ stageIds: ['STAGE-2', 'STAGE-3'] });
});

it('answers 404 for a stream that is not open, and 400 for an invalid id', async () => {
  const { watch } = await start();
  const unknown = await watch('0198f2d4-7c1e-7000-8000-000000000000', []);
  expect(unknown.status).toBe(404);
  expect(await unknown.json()).toMatchObject({ code: 'not_found' });
  expect((await watch('no-id', [])).status).toBe(400);
});

it('cuts off a client that does not read, and lets it catch up by replay', async () => {
  const { orchestrator, stream } = await start({ maxUnreadBytes: 64 * 1024 });
  const slow = await stream();
  const quick = await stream();
  await expect.poll(() => slow.events.length).toBe(3);
  slow.pause();
  // Far more than the kernel accepts for a socket that nobody reads, in portions that the quick client keeps up with.
  for (let sent = 1; sent <= 400; sent++) {
    orchestrator.emit(100_000);
    if (sent % 10 === 0) await expect.poll(() => quick.ids().length, { interval: 2 }).toBe(sent);
  }
  slow.resume();
  await expect.poll(slow.closed).toBe(true);
  const got = slow.ids();
  expect(got).toEqual(upTo(got.length));
  expect(got.length).toBeLessThan(400);
  const again = await stream('', { 'Last-Event-ID': String(got.length) });
  await expect.poll(again.ids).toEqual(upTo(400, got.length + 1));
});

it('sends a comment at intervals, and ends a stream whose login has ended', async () => {
  const { orchestrator, stream } = await start({ heartbeatMs: 10, loginCheckMs: 10 });
  const opened = await stream();
  await expect.poll(opened.text).toContain('\n\n: heartbeat\n\n');
  orchestrator.logins.clear();
  await expect.poll(opened.closed).toBe(true);
});

it.each(['logs out', 'is revoked'])('ends the streams of a login that %s, at once, and no others', async (way) => {
  const { address, orchestrator, stream } = await start();
  const pages = await Promise.all(
    ['c1', 'c2'].map(async (code) => {
      const browser = newBrowser(address);
      orchestrator.loginCodes.add(code);
      await browser.redeem(code);
      return { ...(await browser.headers()), authorization: '' };
    }),
  );
  const [mine, other] = await Promise.all(pages.map((headers) => stream('', headers)));
  expect([mine?.status, other?.status]).toEqual([200, 200]);
  const { status } =
    way === 'logs out'
      ? await fetch(`${address}/api/logout`, { method: 'POST', headers: pages[0] ?? {} })
      : await fetch(`${address}/api/logins/id-of-c1`, { method: 'DELETE', headers: bearer });
  expect([200, 204]).toContain(status);
  await expect.poll(() => mine?.closed()).toBe(true);
  expect(other?.closed()).toBe(false);
  expect((await fetch(`${address}/api/events`, { headers: pages[0] ?? {} })).status).toBe(401);
});

it('limits the streams of one credential', async () => {
  const { orchestrator, stream } = await start({ streamsPerLogin: 3 });
  orchestrator.logins.set('another', 'Ben');
  const open = await Promise.all([stream(), stream(), stream()]);
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200]);
  const refused = await stream();
  expect(refused.status).toBe(429);
  await expect.poll(refused.text).toContain('too_many_streams');
  expect((await stream('', { authorization: 'Bearer another' })).status).toBe(200);
  open[0]?.close();
  await expect.poll(async () => (await stream()).status).toBe(200);
});

it('lets nobody change what another credential’s stream watches', async () => {
  const { address, orchestrator, stream } = await start();
  orchestrator.logins.set('another', 'Ben');
  const mine = await stream();
  await expect.poll(() => mine.events.length).toBe(3);
  const response = await fetch(`${address}/api/events/${mine.streamId()}/watch`, {
    method: 'PUT',
    headers: { authorization: 'Bearer another', 'content-type': 'application/json' },
    body: '{"stageIds":[]}',
  });
  expect(response.status).toBe(404);
});

it('ends every stream when the server closes', async () => {
  const { app, stream } = await start();
  const opened = await stream();
  await app.close();
  await expect.poll(opened.closed).toBe(true);
});

it('answers 503, not an empty stream, while the orchestrator was never reached', async () => {
  const { stream } = await start({ orchestrated: false });
  const refused = await stream();
  expect(refused.status).toBe(503);
  expect(refused.headers['retry-after']).toBe('1');
});

it('writes events of one batch to each stream at once', async () => {
  const { orchestrator, stream } = await start();
  const streams = [await stream(), await stream()];
  for (const { events } of streams) await expect.poll(() => events.length).toBe(3);
  const writes = vi.spyOn(Socket.prototype, 'write');
  onTestFinished(() => writes.mockRestore());
  orchestrator.batch(() => {
    for (let i = 0; i < 5; i++) orchestrator.emit();
  });
  for (const { ids } of streams) await expect.poll(ids).toEqual(upTo(5));
  const reported = writes.mock.calls.filter(([text]) => String(text).includes('event: mode-changed'));
  expect(reported.map(([text]) => String(text).match(/^id: /gm)?.length)).toEqual([5, 5]);
});

it('sends unstored messages after the events that came before them', async () => {
  const { orchestrator, stream } = await start();
  const opened = await stream();
  await expect.poll(() => opened.events.length).toBe(3);
  orchestrator.batch(() => {
    orchestrator.emit();
    const machine = { startHolds: [], budgets: [], sandbox: SANDBOX_UNTRIED, claude: CLAUDE_UNCHECKED };
    orchestrator.notices({ warnings: ['look'], paused: null, ...machine });
    orchestrator.emit();
  });
  await expect
    .poll(() => opened.events.slice(3).map(({ event }) => event))
    .toEqual(['mode-changed', 'notices-updated', 'mode-changed']);
});

it('with `wait`, ends with the first events, or once the time is over', async () => {
  const { orchestrator, client, stream } = await start({ prepare: (fake) => void fake.store() });
  const known = await stream('?wait=0', { 'Last-Event-ID': '1' });
  await expect.poll(known.closed).toBe(true);
  expect([known.ids(), known.named('stream')]).toEqual([[], [expect.objectContaining({ event: 'stream' })]]);

  for (let i = 0; i < 1_200; i++) orchestrator.store();
  orchestrator.emit();
  await expect.poll(client.seq).toBe(1_202);
  const behind = await stream('?wait=20000', { 'Last-Event-ID': '1' });
  await expect.poll(behind.closed).toBe(true);
  expect(behind.ids()).toEqual(upTo(1_202, 2));

  const waiting = await stream('?wait=20000', { 'Last-Event-ID': '1202' });
  await expect.poll(() => waiting.named('stream').length).toBe(1);
  expect(waiting.closed()).toBe(false);
  orchestrator.emit();
  await expect.poll(waiting.closed).toBe(true);
  expect(waiting.ids()).toEqual([1_203]);
  expect((await stream('?wait=3600000')).status).toBe(400);
});
