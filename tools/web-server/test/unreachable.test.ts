import { PROTOCOL_VERSION } from '@callboard/contract';
import { afterEach, expect, it, vi } from 'vitest';
import { WAIT_MS } from '../../../test-support/until.ts';
import { noAnswer, Refusal } from './fake-orchestrator.ts';
import { bearer, type Harness, startHarness } from './harness.ts';

let harness: Harness;
afterEach(() => harness.stop());

it('is healthy exactly while the orchestrator can be reached, without a login', async () => {
  harness = await startHarness();
  const { app, orchestrator, client } = harness;
  const healthy = await app.inject({ url: '/api/health' });
  expect([healthy.statusCode, healthy.json()]).toEqual([200, { status: 'ok' }]);

  await orchestrator.kill();
  await expect.poll(client.status).toBe('unreachable');
  const starting = await app.inject({ url: '/api/health' });
  expect([starting.statusCode, starting.json()]).toEqual([503, { status: 'starting' }]);
  expect(starting.headers['retry-after']).toBe('1');

  await orchestrator.start();
  await expect.poll(async () => (await app.inject({ url: '/api/health' })).statusCode).toBe(200);
});

it('reports details of its health to logged-in clients, and the status to everyone else', async () => {
  harness = await startHarness({ prepare: (fake) => void fake.store() });
  const { app } = harness;
  expect((await app.inject({ url: '/api/health', headers: bearer })).json()).toEqual({
    status: 'ok',
    version: '0.1.0',
    protocol: PROTOCOL_VERSION,
    orchestrator: { status: 'ready', version: '0.1.0', seq: 1 },
    counts: { pending: 0, stages: { ready: 1 }, sessions: {} },
    storeTrouble: null,
    loopDelay: {
      webServer: { p50Ms: expect.any(Number), p99Ms: expect.any(Number), maxMs: expect.any(Number) },
      orchestrator: { p50Ms: 0.1, p99Ms: 3, maxMs: 12.5 },
    },
  });
  const unattributed = await app.inject({ url: '/api/health', headers: { authorization: 'Bearer unknown' } });
  expect([unattributed.statusCode, unattributed.json()]).toEqual([200, { status: 'ok' }]);
  harness.orchestrator.handlers.get_counts = () => {
    throw new Refusal('storage_failed', 'The store cannot be read.');
  };
  const health = (await app.inject({ url: '/api/health', headers: bearer })).json();
  expect(Object.keys(health.loopDelay)).toEqual(['webServer']);
});

it('answers 503 with Retry-After at once while there is no orchestrator', async () => {
  harness = await startHarness({ orchestrated: false });
  const response = await harness.app.inject({ url: '/api/board', headers: bearer });
  expect(response.statusCode).toBe(503);
  expect(response.headers['retry-after']).toBe('1');
  expect(response.json()).toMatchObject({ code: 'orchestrator_unreachable' });
});

it('answers a read with 503 and Retry-After after five seconds while the orchestrator hangs', async () => {
  harness = await startHarness();
  const { app, orchestrator } = harness;
  orchestrator.handlers.get_board = noAnswer;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const waiting = app.inject({ url: '/api/board', headers: bearer });
    await expect.poll(() => orchestrator.inputsOf('get_board').length).toBe(1);
    vi.advanceTimersByTime(5_000);
    const response = await waiting;
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1']);
    expect(response.json()).toMatchObject({
      code: 'orchestrator_unreachable',
      detail: expect.stringContaining('within 5 s. Nothing was changed'),
    });
  } finally {
    vi.useRealTimers();
  }
});

it('passes on the key under which a command is sent again, and refuses one that is none', async () => {
  harness = await startHarness();
  const { app, orchestrator } = harness;
  orchestrator.handlers.interrupt = noAnswer;
  const key = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61';
  const post = (headers: object) =>
    app.inject({ method: 'POST', url: '/api/sessions/STAGE-1/interrupt', headers: { ...bearer, ...headers } });
  const waiting = post({ 'idempotency-key': key, 'idempotency-age': '1200' });
  await expect.poll(() => orchestrator.received.at(-1)).toMatchObject({ idempotency: { key, unknownForMs: 1_200 } });
  orchestrator.dropConnections();
  await waiting;
  expect((await post({ 'idempotency-key': 'one' })).json()).toMatchObject({ code: 'bad_request' });
});

it('answers 503 for a command whose reply is lost, and says to check the state', async () => {
  harness = await startHarness();
  const { app, orchestrator, client } = harness;
  orchestrator.handlers.interrupt = noAnswer;
  const waiting = app.inject({ method: 'POST', url: '/api/sessions/STAGE-1/interrupt', headers: bearer });
  await expect.poll(() => orchestrator.inputsOf('interrupt').length).toBe(1);
  orchestrator.dropConnections();
  const response = await waiting;
  expect(response.statusCode).toBe(503);
  expect(response.json()).toMatchObject({
    code: 'reply_lost',
    detail: expect.stringContaining('look at the state before trying again'),
  });
  await client.whenReady(AbortSignal.timeout(WAIT_MS));
  expect(orchestrator.inputsOf('interrupt')).toHaveLength(1);
});
