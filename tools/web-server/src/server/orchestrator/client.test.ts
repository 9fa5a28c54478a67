import { afterEach, expect, it } from 'vitest';
import { createFakeOrchestrator, GOOD_TOKEN, noAnswer, Refusal, SECRET } from '../../../test/fake-orchestrator.ts';
import { createTestLog } from '../../../test/harness.ts';
import { decision, stage } from '../../../test/samples.ts';
import { createOrchestratorClient, type OrchestratorStatus } from './client.ts';

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

async function connect(fakeOptions: Parameters<typeof createFakeOrchestrator>[0] = {}, heartbeatMs = 5_000) {
  const orchestrator = createFakeOrchestrator(fakeOptions);
  await orchestrator.start();
  cleanUp.push(orchestrator.kill);
  const { log, errors } = createTestLog();
  const client = createOrchestratorClient({
    url: orchestrator.url(),
    secret: SECRET,
    log,
    heartbeatMs,
    maxBackoffMs: 50,
  });
  cleanUp.push(client.close);
  const events: number[] = [];
  const statuses: OrchestratorStatus[] = [];
  const resyncs: (number | null)[] = [];
  client.listen({
    event: ({ seq }) => void events.push(seq),
    status: (status) => void statuses.push(status),
    resync: () => void resyncs.push(client.seq()),
  });
  const ready = () => client.whenReady(AbortSignal.timeout(60_000));
  return { orchestrator, client, events, statuses, resyncs, errors, ready };
}

it('gives a command with its credential and returns the reply', async () => {
  const { orchestrator, client, ready } = await connect();
  orchestrator.handlers.get_stage = () => ({ stage });
  await ready();
  const reply = await client.send(
    'get_stage',
    { stageId: stage.id },
    { credential: { kind: 'token', secret: GOOD_TOKEN } },
  );
  expect(reply.stage.title).toBe('Login form');
  expect(orchestrator.received).toEqual([{ type: 'get_stage', input: { stageId: 'STAGE-1' }, actor: 'Ann' }]);
});

it('rejects with the refusal and the decision that stands', async () => {
  const { orchestrator, client, ready } = await connect();
  orchestrator.handlers.interrupt = () => {
    throw new Refusal('already_decided', 'Ann was first', decision);
  };
  await ready();
  await expect(client.send('interrupt', { stageId: stage.id })).rejects.toMatchObject({
    kind: 'rejection',
    code: 'already_decided',
    message: 'Ann was first',
    decision: { by: 'Ann' },
  });
});

it('rejects a reply that breaks the contract', async () => {
  const { orchestrator, client, ready } = await connect();
  orchestrator.handlers.get_stage = () => JSON.parse('{"stage":{"id":"STAGE-1"}}');
  await ready();
  await expect(client.send('get_stage', { stageId: stage.id })).rejects.toMatchObject({
    kind: 'protocol',
    code: 'internal',
  });
});

it('refuses at once while there is no connection', async () => {
  const { orchestrator, client, ready, statuses } = await connect();
  await ready();
  await orchestrator.kill();
  await expect.poll(() => statuses).toEqual(['ready', 'unreachable']);
  await expect(client.send('get_board', {})).rejects.toMatchObject({ code: 'orchestrator_unreachable' });
});

it('tells every waiter when the connection ends, and repeats none of their commands', async () => {
  const { orchestrator, client, ready } = await connect();
  orchestrator.handlers.get_stage = noAnswer;
  await ready();
  const waiting = [1, 2, 3].map(() => client.send('get_stage', { stageId: stage.id }));
  const settled = Promise.allSettled(waiting);
  await expect.poll(() => orchestrator.received.length).toBe(3);
  orchestrator.dropConnections();
  for (const result of await settled) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { code: 'orchestrator_unreachable', message: expect.stringContaining('before the reply') },
    });
  }
  await ready();
  await client.send('get_board', {});
  expect(orchestrator.inputsOf('get_stage')).toHaveLength(3);
});

it('gives up waiting after the time limit, and when the signal aborts', async () => {
  const { orchestrator, client, ready } = await connect();
  orchestrator.handlers.get_stage = noAnswer;
  await ready();
  orchestrator.handlers.interrupt = noAnswer;
  await expect(client.send('interrupt', { stageId: stage.id }, { timeoutMs: 20 })).rejects.toMatchObject({
    code: 'no_confirmation',
  });
  // What is only read can be asked for again.
  await expect(client.send('get_stage', { stageId: stage.id }, { timeoutMs: 20 })).rejects.toMatchObject({
    code: 'orchestrator_unreachable',
    message: expect.stringContaining('Nothing was changed'),
  });
  const controller = new AbortController();
  const waiting = client.send('get_stage', { stageId: stage.id }, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

it('ends a connection whose other side does not answer heartbeats, and connects again', async () => {
  const { orchestrator, ready, statuses } = await connect({ autoPong: false }, 20);
  await ready();
  await expect.poll(() => statuses.slice(0, 3)).toEqual(['ready', 'unreachable', 'ready']);
  expect(orchestrator.upgrades()).toBeGreaterThan(1);
});

it('keeps trying, and never becomes ready, when the protocols differ or the secret is wrong', async () => {
  for (const options of [{ protocol: 999 }, { secret: 'another secret, not ours' }]) {
    const { orchestrator, client, statuses } = await connect(options);
    await expect.poll(() => orchestrator.upgrades()).toBeGreaterThan(2);
    expect(statuses).toEqual([]);
    expect(client.status()).toBe('unreachable');
    await expect(client.send('get_board', {})).rejects.toMatchObject({ code: 'orchestrator_unreachable' });
  }
});

it('shows every event once and in order across reconnects', async () => {
  const { orchestrator, events, ready, resyncs } = await connect();
  for (let i = 0; i < 3; i++) orchestrator.store();
  await ready();
  orchestrator.emit();
  orchestrator.emit();
  await expect.poll(() => events).toEqual([4, 5]);
  await orchestrator.kill();
  for (let i = 0; i < 1200; i++) orchestrator.store();
  await orchestrator.start();
  await ready();
  orchestrator.emit();
  const all = Array.from({ length: 1203 }, (_, i) => i + 4);
  await expect.poll(() => events).toEqual(all);
  expect(resyncs).toEqual([]);
});

it('fetches what is missing between two live events', async () => {
  const { orchestrator, events, ready } = await connect();
  await ready();
  orchestrator.emit();
  orchestrator.store();
  orchestrator.emit();
  orchestrator.emit();
  await expect.poll(() => events).toEqual([1, 2, 3, 4]);
});

it('says resync when missed events are no longer kept', async () => {
  const { orchestrator, client, events, resyncs, ready } = await connect();
  await ready();
  orchestrator.emit();
  await expect.poll(() => events).toEqual([1]);
  await orchestrator.kill();
  for (let i = 0; i < 5; i++) orchestrator.store();
  orchestrator.prune(4);
  await orchestrator.start();
  await expect.poll(() => resyncs).toEqual([6]);
  expect(client.seq()).toBe(6);
  orchestrator.emit();
  await expect.poll(() => events).toEqual([1, 7]);
});

it('says resync rather than passing over what the log should hold and does not', async () => {
  const { orchestrator, resyncs, events, ready } = await connect();
  orchestrator.handlers.get_events = () => ({ events: [], resync: false });
  await ready();
  orchestrator.store();
  orchestrator.emit();
  await expect.poll(() => resyncs).toEqual([2]);
  orchestrator.emit();
  await expect.poll(() => events).toEqual([3]);
});

it('says resync when the orchestrator has begun a new log', async () => {
  const { orchestrator, events, resyncs, ready } = await connect();
  for (let i = 0; i < 9; i++) orchestrator.store();
  await ready();
  await orchestrator.kill();
  orchestrator.startOver();
  orchestrator.store();
  await orchestrator.start();
  await expect.poll(() => resyncs).toEqual([1]);
  orchestrator.emit();
  await expect.poll(() => events).toEqual([2]);
});

it.each([
  ['without data', { type: 'mode_changed', data: null }],
  ['that breaks the contract', { type: 'mode_changed', data: { nonsense: true } }],
  ['of a name that only a newer orchestrator knows', { type: 'moon_risen', data: {} }],
])('says resync for an event %s, and goes on', async (_, frame) => {
  const { orchestrator, events, resyncs, ready, errors } = await connect();
  await ready();
  orchestrator.store();
  orchestrator.broadcast({ ...frame, seq: 1, at: '2026-01-01T00:00:00.000Z' });
  orchestrator.emit();
  await expect.poll(() => events).toEqual([2]);
  expect(resyncs).toEqual([1]);
  expect(errors).toHaveLength(1);
});
