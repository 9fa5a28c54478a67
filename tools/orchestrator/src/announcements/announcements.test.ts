import { RequestId, Stage } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../test/support/set-clocks.ts';
import { allow } from '../../test/support/test-answers.ts';
import { asked, busyTestSession, type TestSession, turnEnded } from '../../test/support/test-session.ts';
import { openTestStore, silent } from '../../test/support/test-store.ts';
import { startAnnouncer } from './announcer.ts';
import type { Channel, Message, Outcome } from './channel.ts';
import { startDeliverer } from './deliverer.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const SENT: Outcome = { kind: 'sent' };
const failed = (afterMs?: number): Outcome => ({ kind: 'failed', error: 'no route', ...(afterMs && { afterMs }) });
/** Ends only when it is stopped, after the test. */
const never = (_: Message, signal: AbortSignal) =>
  new Promise<Outcome>((resolve) => signal.addEventListener('abort', () => resolve(failed())));

/** A store with a busy session, and a channel whose outcomes the test decides. */
async function setUp(tellsSettled = true) {
  const clocks = setClocks();
  const test = await openTestStore(clocks.edges);
  const session = await busyTestSession({}, test);
  const { store } = test;
  const told: string[] = [];
  let next: (message: Message, signal: AbortSignal) => Outcome | Promise<Outcome> = () => SENT;
  const channel: Channel = {
    name: 'test',
    tellsSettled: async () => tellsSettled,
    targets: async (tx) => [{ target: 'Ada', dueAt: tx.now }],
    async send(message, signal) {
      told.push(`${message.phase} ${message.announcement.signal} to ${message.target}`);
      return next(message, signal);
    },
  };
  const channels = [channel];
  const announcer = () => startAnnouncer({ store, log: silent, channels, onQueued: () => undefined, lagMs: 0 });
  /** Compares and stores, as a start does. */
  const announce = async () => {
    const started = announcer();
    await started.drain();
    await started.stop();
  };
  const deliverer = () => {
    const started = startDeliverer({ store, edges: clocks.edges, log: silent, channels });
    onTestFinished(started.stop);
    return started;
  };
  const deliver = async () => {
    const started = deliverer();
    await started.drain();
    await started.stop();
  };
  const rows = async () => {
    const { stageId } = session;
    const key = `request ${stageId} r1`;
    return (await store.read.deliveries.listOf(key)).map((row) => `${row.phase} ${row.state}`);
  };
  const outcome = (result: typeof next) => {
    next = result;
  };
  return { ...clocks, ...{ store, session, channels, told, announcer, announce, deliverer, deliver, rows, outcome } };
}

it('tells of a request once, and then that it was answered', async () => {
  const { session, announce, deliver, told, rows, store } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  await announce();
  await deliver();
  expect(told).toEqual(['announced waiting to Ada']);
  await deliver();
  expect(told).toHaveLength(1);
  await allow(session);
  await announce();
  await deliver();
  expect(told).toEqual(['announced waiting to Ada', 'settled waiting to Ada']);
  expect(await rows()).toEqual(['announced sent', 'settled sent']);
  expect(await store.read.announcements.listOpen()).toEqual([]);
});

it('notices changes as they happen, and what happened while it was stopped', async () => {
  const { session, announcer, announce, store } = await setUp();
  const signals = async () => (await store.read.announcements.listOpen()).map(({ signal }) => signal);
  const running = announcer();
  await running.drain();
  await session.tell(asked('r1'));
  await running.drain();
  expect(await signals()).toEqual(['waiting']);
  await allow(session);
  await running.drain();
  expect(await signals()).toEqual([]);
  await running.stop();
  await session.tell(turnEnded('failed'));
  expect(await signals()).toEqual([]);
  await announce();
  expect(await signals()).toEqual(['failed']);
});

it('tells of each of three signals, and nothing about a message that was overtaken', async () => {
  const { session, announce, deliver, told } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  await allow(session); // before anything was sent
  await session.tell(turnEnded('succeeded'));
  await announce();
  await deliver();
  expect(told).toEqual(['announced finished to Ada']);
});

/** Completes the stage as Callboard does when it merges by itself after a turn. */
const merge = ({ store, stageId }: TestSession) =>
  store.transact(async (tx) => {
    const turn = (await tx.sessions.find(stageId))?.lastTurn?.at;
    const finishing = { way: 'merge', state: 'done', by: 'Callboard', at: tx.now, turn, order: null, problem: null };
    await tx.stages.update(Stage.parse({ ...(await tx.stages.find(stageId)), completedAt: tx.now, finishing }));
  });

it('tells once of a stage that Callboard merges', async () => {
  const { session, announce, deliver, told, store } = await setUp();
  await session.tell(turnEnded('succeeded'));
  await announce();
  await deliver();
  await merge(session);
  await announce();
  await deliver();
  expect(told).toEqual(['announced finished to Ada']);
  expect(await store.read.announcements.listOpen()).toHaveLength(1);
});

it('tells nobody of a stage that was merged more than a day ago, before this was told', async () => {
  const { session, announce, deliver, told, pass } = await setUp();
  await session.tell(turnEnded('succeeded'));
  await merge(session);
  await pass(25 * 3_600_000);
  await announce();
  await deliver();
  expect(told).toEqual([]);
});

it('does not tell that it is settled where that is not wanted', async () => {
  const { session, announce, deliver, told } = await setUp(false);
  await session.tell(asked('r1'));
  await announce();
  await deliver();
  await allow(session);
  await announce();
  await deliver();
  expect(told).toEqual(['announced waiting to Ada']);
});

it('sends again what was being sent when Callboard was killed', async () => {
  const { session, announce, deliverer, deliver, told, rows, outcome } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  outcome(never);
  deliverer(); // is killed: nobody hears of its outcome
  await vi.waitFor(() => expect(told).toHaveLength(1));
  outcome(() => SENT);
  await deliver();
  expect(told).toEqual(['announced waiting to Ada', 'announced waiting to Ada']);
  expect(await rows()).toEqual(['announced sent']);
});

it('takes back what may have been sent when Callboard was killed, once it is answered', async () => {
  const { session, announce, deliverer, deliver, told, rows, outcome } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  outcome(never);
  deliverer();
  await vi.waitFor(() => expect(told).toHaveLength(1));
  await allow(session);
  await announce();
  outcome(() => SENT);
  await deliver();
  expect(told).toEqual(['announced waiting to Ada', 'settled waiting to Ada']);
  expect(await rows()).toEqual(['announced dropped', 'settled sent']);
});

it('takes back what was answered while it was being sent', async () => {
  const { session, announce, deliverer, told, rows, outcome } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  outcome(({ phase }) => (phase === 'announced' ? promise : SENT));
  const running = deliverer();
  await vi.waitFor(() => expect(told).toHaveLength(1));
  await allow(session);
  await announce();
  resolve(SENT);
  await running.drain();
  expect(told.at(-1)).toBe('settled waiting to Ada');
  expect(await rows()).toEqual(['announced sent', 'settled sent']);
});

it('tries again with growing waits, also after a restart, and gives up after a day', async () => {
  const { session, announce, deliver, told, pass, outcome, store } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  outcome(() => failed());
  await deliver();
  await deliver();
  expect(told).toHaveLength(1); // not before its time
  await pass(5_000);
  await deliver();
  expect(told).toHaveLength(2);
  await pass(29_000);
  await deliver();
  expect(told).toHaveLength(2);
  await pass(1_000);
  outcome(() => failed(3_600_000)); // the receiver asks for patience
  await deliver();
  await pass(3_599_000);
  await deliver();
  expect(told).toHaveLength(3);
  outcome(() => failed());
  await pass(24 * 3_600_000);
  await deliver();
  expect(told).toHaveLength(4);
  const [row] = await store.read.deliveries.listOf(`request ${session.stageId} r1`);
  expect(row).toMatchObject({ state: 'dropped', error: 'no route', attempts: 4 });
});

it('waits without a failure while it is not the time', async () => {
  const { session, announce, deliverer, told, pass, outcome, edges, store } = await setUp();
  await session.tell(asked('r1'));
  await announce();
  const until = new Date(edges.now().getTime() + 30_000);
  outcome(() => ({ kind: 'postponed', until }));
  const running = deliverer();
  await running.drain();
  const [row] = await store.read.deliveries.listOf(`request ${session.stageId} r1`);
  expect(row).toMatchObject({ state: 'queued', attempts: 0, dueAt: until.toISOString() });
  outcome(() => SENT);
  await pass(30_000); // by its own timer
  await vi.waitFor(() => expect(told).toHaveLength(2));
});

it('forgets what is settled with its messages, and nothing else', async () => {
  const { session, announce, store } = await setUp();
  await session.tell(asked('r1'), asked('r2'));
  await announce();
  await allow(session, 'r1');
  await announce();
  const requestId = RequestId.parse('r1');
  expect(await store.read.requests.findDecision(session.stageId, requestId)).not.toBeNull();
  await store.transact((tx) => tx.announcements.forgetSettledBefore('2100-01-01T00:00:00.000Z'));
  expect(await store.read.deliveries.listOf(`request ${session.stageId} r1`)).toEqual([]);
  expect((await store.read.announcements.listOpen()).map(({ requestId }) => requestId)).toEqual(['r2']);
});

it('settles what a deleted stage had', async () => {
  const { session, announcer, store, deliver, told } = await setUp();
  const running = announcer();
  await session.tell(asked('r1'));
  await running.drain();
  await deliver();
  await store.transact(async (tx) => {
    await tx.stages.remove(session.stageId);
    await tx.emit({ type: 'stage-removed', data: { stageId: session.stageId } });
  });
  await running.drain();
  await deliver();
  expect(told).toEqual(['announced waiting to Ada', 'settled waiting to Ada']);
  await running.stop();
});
