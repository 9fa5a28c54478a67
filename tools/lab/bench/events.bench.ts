import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { type Installation, install, type Running } from '../../../e2e/support/callboard.ts';
import { logInAsPage } from '../../../e2e/support/page-login.ts';
import { openRawStream, type RawMessage } from '../load/raw-stream.ts';
import { percentile } from './measure.ts';
import { report } from './results.ts';

const EVENTS = 100_000;
const CHANGES = 60;
const REPLAYS = 3;
const TOKEN = 'a-token-for-the-benchmark';
/** One credential may have 50 streams. */
const HALF = 50;
const CLIENTS = 2 * HALF;

it('measures how fast events are replayed, and how soon a hundred clients receive one', {
  timeout: 600_000,
}, async () => {
  const installation = await install(
    { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') },
    onTestFinished,
    true,
  );
  const before = await installation.start();
  await work(createHttpTransport({ origin: before.origin, token: TOKEN }));
  await before.stop();
  const since = multiplyEvents(installation);
  const running = await installation.start();
  onTestFinished(() => running.stop());
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const { seq } = await transport.command('get_board', {});

  const replays: number[] = [];
  for (let round = 0; round < REPLAYS; round++) replays.push(await replay(running.origin, since, seq));
  const bare = await bareReplay(installation, since);
  const spread = await spreadOf(running, transport, seq);
  const perSecond = ((seq - since) / Math.min(...replays)) * 1_000;
  report('events', [
    {
      name: 'replayed',
      value: perSecond,
      unit: '/s',
      atLeast: 50_000,
      baseline: `rows of the store as they are, over HTTP: ${(((seq - since) / bare) * 1_000).toFixed(0)}/s`,
    },
    {
      name: `an event, until ${CLIENTS} clients have it, p99`,
      value: percentile(spread, 0.99),
      unit: 'ms',
      atMost: 100,
      baseline: `p50 ${percentile(spread, 0.5).toFixed(0)} ms`,
    },
  ]);
});

/** Runs a turn, which produces events of all its kinds. */
async function work(transport: Transport): Promise<void> {
  const text = prompt({ steps: [{ tools: [{ name: 'Bash', input: { command: 'true' } }] }, { text: 'Done.' }] });
  const made = { projectId: ProjectId.parse('shop'), title: 'Works', prompt: text };
  const { stage } = await transport.command('create_stage', made);
  await transport.command('start_stage', { stageId: stage.id });
  for (;;) {
    const { pending } = await transport.command('get_board', {});
    for (const { requestId } of pending)
      await transport.command('approve_tool', { stageId: stage.id, requestId, decision: 'allow' });
    const { session } = await transport.command('get_session', { stageId: stage.id });
    if (session.state === 'idle') return;
    await sleep(50);
  }
}

/** Copies the existing events over and over; returns the number of the last one before the copies. */
function multiplyEvents({ dataDir }: Installation): number {
  const store = new DatabaseSync(`${dataDir}/store.sqlite`);
  const { last = 0 } = store.prepare('select max(seq) as last from events').get() ?? {};
  store.exec('begin');
  const copy = store.prepare('insert into events (at, type, data) select at, type, data from events where seq <= ?');
  for (let written = 0; written < EVENTS; ) written += Number(copy.run(last).changes);
  store.exec('commit');
  store.close();
  return Number(last);
}

/** Measures how long it takes, in ms, until a client has all events after `since`. */
async function replay(origin: string, since: number, until: number): Promise<number> {
  const begun = performance.now();
  const done = Promise.withResolvers<void>();
  let seen = since;
  const onMessage = ({ id }: RawMessage) => {
    if (id === null) return;
    if (id !== seen + 1) done.reject(new Error(`event ${id} where ${seen + 1} was due`));
    seen = id;
    if (id === until) done.resolve();
  };
  const close = await openRawStream(origin, TOKEN, since, onMessage);
  await done.promise;
  close();
  return performance.now() - begun;
}

/** Measures the same with a server that only reads the rows and writes them. */
async function bareReplay({ dataDir }: Installation, since: number): Promise<number> {
  const store = new DatabaseSync(`${dataDir}/store.sqlite`, { readOnly: true });
  const server = createServer(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { seq, at, type, data } of store
      .prepare('select * from events where seq > ? order by seq')
      .iterate(since))
      if (!response.write(`event: ${type}\nid: ${seq}\nat: ${at}\ndata: ${data}\n\n`)) await once(response, 'drain');
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { last } = store.prepare('select max(seq) as last from events').get() ?? {};
  const took = await replay(`http://127.0.0.1:${port}`, since, Number(last));
  server.close();
  store.close();
  return took;
}

/** Returns, for several changes, how many ms after storing each one the last client had it. */
async function spreadOf({ origin, loginLink }: Running, transport: Transport, seq: number): Promise<number[]> {
  const arrivals = new Map<number, { at: number; clients: number; last: number }>();
  const onMessage = ({ event, id, at }: RawMessage) => {
    if (event !== 'stage-created' || id === null || at === null) return;
    const arrival = arrivals.get(id) ?? { at: Date.parse(at), clients: 0, last: 0 };
    arrivals.set(id, { ...arrival, clients: arrival.clients + 1, last: Date.now() });
  };
  const closers = [];
  for (const credential of [TOKEN, await logInAsPage(loginLink)])
    for (let client = 0; client < HALF; client++) closers.push(await openRawStream(origin, credential, seq, onMessage));
  for (let change = 0; change < CHANGES; change++) {
    await transport.command('create_stage', {
      projectId: ProjectId.parse('shop'),
      title: `Change ${change}`,
      prompt: 'Do it.',
    });
    await sleep(20);
  }
  const isWhole = () => arrivals.size >= CHANGES && [...arrivals.values()].every(({ clients }) => clients === CLIENTS);
  while (!isWhole()) await sleep(20);
  for (const close of closers) close();
  return [...arrivals.values()].map(({ at, last }) => last - at);
}
