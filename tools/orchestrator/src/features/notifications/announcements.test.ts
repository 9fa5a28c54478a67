import { RequestId, Stage } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { announcementTest, failed, never, SENT } from '../../../test/support/announcement-test.ts';
import { allow } from '../../../test/support/test-answers.ts';
import { asked, type Reported, sampleAsk, type TestSession, turnEnded } from '../../../test/support/test-session.ts';
import type { Outcome } from '../../core/session/notification-channel.ts';
import { settleCompleted } from './notifications.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

it('tells of a request once, and then that it was answered', async () => {
  const { session, announce, deliver, told, rows, store } = await announcementTest();
  await session.emit(asked('r1'));
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

it('tells of a host only once its request has stood for two seconds', async () => {
  const { session, announce, deliver, pass, told, rows, store } = await announcementTest();
  const wants = (requestId: string): Reported => ({
    type: 'asked',
    requestId,
    kind: 'network',
    ask: sampleAsk({ toolUseId: '' }),
  });
  await session.emit(wants('r1'));
  await announce();
  await pass(1_900);
  await deliver();
  expect(told).toEqual([]);
  await session.emit({ type: 'withdrawn', requestId: 'r1' }, wants('r2'));
  await announce();
  await pass(2_000);
  await deliver();
  expect(told).toEqual(['announced waiting to Ada']);
  expect(await rows()).toEqual(['announced dropped']);
  expect((await store.read.announcements.listOpen()).map(({ requestId }) => requestId)).toEqual(['r2']);
});

it('notices changes as they happen, and what happened while it was stopped', async () => {
  const { session, announcer, announce, store } = await announcementTest();
  const signals = async () => (await store.read.announcements.listOpen()).map(({ signal }) => signal);
  const running = announcer();
  await running.drain();
  await session.emit(asked('r1'));
  await running.drain();
  expect(await signals()).toEqual(['waiting']);
  await allow(session);
  await running.drain();
  expect(await signals()).toEqual([]);
  await running.stop();
  await session.emit(turnEnded('failed'));
  expect(await signals()).toEqual([]);
  await announce();
  expect(await signals()).toEqual(['failed']);
});

it('leaves the stages of other machines to them, and stores what they have not announced a while later', async () => {
  const { session, announcer, rows, store } = await announcementTest();
  const running = announcer({
    store: { ...store, read: store.read, onEvent: () => () => undefined },
    onOthers: store.onEvent,
    lagMs: 200,
  });
  await running.drain();
  await session.emit(asked('r1'));
  await vi.advanceTimersByTimeAsync(4_900);
  await running.drain();
  expect(await rows()).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  await running.drain();
  expect(await rows()).toEqual(['announced queued']);
  await running.stop();
});

it('tells of each of three signals, and nothing about a message that was overtaken', async () => {
  const { session, announce, deliver, told } = await announcementTest();
  await session.emit(asked('r1'));
  await announce();
  await allow(session); // before anything was sent
  await session.emit(turnEnded('succeeded'));
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
  const { session, announce, deliver, told, store } = await announcementTest();
  await session.emit(turnEnded('succeeded'));
  await announce();
  await deliver();
  await merge(session);
  await announce();
  await deliver();
  expect(told).toEqual(['announced finished to Ada']);
  expect(await store.read.announcements.listOpen()).toHaveLength(1);
});

it('tells nobody of a stage that was merged more than a day ago, before this was told', async () => {
  const { session, announce, deliver, told, pass } = await announcementTest();
  await session.emit(turnEnded('succeeded'));
  await merge(session);
  await pass(25 * 3_600_000);
  await announce();
  await deliver();
  expect(told).toEqual([]);
});

/** Deletes the stage. */
const remove = ({ store, stageId }: TestSession) =>
  store.transact(async (tx) => {
    await tx.stages.remove(stageId);
    await tx.emit({ type: 'stage-removed', data: { stageId } });
  });

it('tells nobody that a stage is deleted that Callboard merged days ago', async () => {
  const { session, announce, deliver, told, pass, store, platform } = await announcementTest();
  await session.emit(turnEnded('succeeded'));
  await announce();
  await merge(session);
  const day = 24 * 3_600_000;
  const settle = () =>
    store.transact((tx) => settleCompleted(tx, new Date(platform.now().getTime() - day).toISOString()));
  await pass(2 * day);
  await settle(); // its message is not sent yet
  expect(await store.read.announcements.listOpen()).toHaveLength(1);
  await deliver();
  await settle();
  expect(await store.read.announcements.listOpen()).toEqual([]);
  await store.transact((tx) => tx.announcements.forgetSettledBefore('2100-01-01T00:00:00.000Z'));
  await announce(); // it is not told anew
  await remove(session);
  await announce();
  await deliver();
  expect(told).toEqual(['announced finished to Ada']);
});

it('keeps of a message that was overtaken how often it was tried, and why that failed', async () => {
  const { session, announce, deliver, outcome, pass, store } = await announcementTest();
  const row = async (id: string) => (await store.read.deliveries.listOf(`request ${session.stageId} ${id}`))[0];
  await session.emit(asked('r1'));
  await announce();
  outcome(() => failed());
  await deliver();
  await allow(session);
  await announce();
  expect(await row('r1')).toMatchObject({ state: 'dropped', attempts: 1, error: 'no route' });
  await session.emit(asked('r2'));
  await announce();
  await deliver();
  await pass(5_000);
  outcome(() => ({ kind: 'dropped', error: 'Switched off.' })); // without sending it
  await deliver();
  expect(await row('r2')).toMatchObject({ state: 'dropped', attempts: 1, error: 'Switched off.' });
});

it('does not tell that it is settled where that is not wanted', async () => {
  const { session, announce, deliver, told } = await announcementTest(false);
  await session.emit(asked('r1'));
  await announce();
  await deliver();
  await allow(session);
  await announce();
  await deliver();
  expect(told).toEqual(['announced waiting to Ada']);
});

it('sends again what was being sent when Callboard was killed', async () => {
  const { session, announce, deliverer, deliver, told, rows, outcome } = await announcementTest();
  await session.emit(asked('r1'));
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
  const { session, announce, deliverer, deliver, told, rows, outcome } = await announcementTest();
  await session.emit(asked('r1'));
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
  const { session, announce, deliverer, told, rows, outcome } = await announcementTest();
  await session.emit(asked('r1'));
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
  const { session, announce, deliver, told, pass, outcome, store } = await announcementTest();
  await session.emit(asked('r1'));
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
  const { session, announce, deliverer, told, pass, outcome, platform, store } = await announcementTest();
  await session.emit(asked('r1'));
  await announce();
  const until = new Date(platform.now().getTime() + 30_000);
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
  const { session, announce, store } = await announcementTest();
  await session.emit(asked('r1'), asked('r2'));
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
  const { session, announcer, deliver, told } = await announcementTest();
  const running = announcer();
  await session.emit(asked('r1'));
  await running.drain();
  await deliver();
  await remove(session);
  await running.drain();
  await deliver();
  expect(told).toEqual(['announced waiting to Ada', 'settled waiting to Ada']);
  await running.stop();
});

it('reaches the other targets while one that does not answer has any number of overdue messages', async () => {
  const { session, announce, deliverer, told, outcome, store } = await announcementTest();
  await session.emit(asked('r1'));
  await announce();
  const [request] = await store.read.announcements.listOpen();
  if (request === undefined) throw new Error('nothing was announced');
  await store.transact(async (tx) => {
    for (let n = 0; n < 1_200; n++) {
      const key = `request ${session.stageId} old-${n}`;
      await tx.announcements.insert({ ...request, key });
      const row = { announcementKey: key, channel: 'test', phase: 'announced' } as const;
      await tx.deliveries.insert({ ...row, target: 'Nobody', dueAt: '2026-01-01T00:00:00.000Z' });
    }
  });
  outcome((message, signal) => (message.target === 'Nobody' ? never(message, signal) : SENT));
  deliverer();
  await vi.waitFor(() => expect(told.toSorted()).toEqual(['announced waiting to Ada', 'announced waiting to Nobody']));
});

it('are sent by the machine that leads alone, and by the next one when that is gone', async () => {
  const { session, announce, deliverer, told } = await announcementTest();
  await session.emit(asked('r1'));
  await announce();
  const first = { leads: false };
  const [one, two] = [deliverer(async () => first.leads), deliverer(async () => !first.leads)];
  await Promise.all([one.drain(), two.drain()]);
  expect(told).toEqual(['announced waiting to Ada']);
});
