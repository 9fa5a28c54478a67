import type { StageId } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, silent, withFields } from '../../../test/support/test-store.ts';
import { markTask } from '../session/background-tasks.ts';
import { changeSession } from '../session/change-session.ts';
import { startIdleWatch, startSilenceWatch } from './session-watches.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  return { ...clocks, ...test, session: await busyTestSession({}, test) };
}

it.each([0, DAY, -DAY])(
  'ends an idle process after an hour, even if the time of day jumps by %i ms',
  async (jumpMs) => {
    const { session, store, platform, pass, jump } = await setUp();
    const ended: StageId[] = [];
    const watch = startIdleWatch({
      store,
      platform,
      log: silent,
      idleMs: 60 * MINUTE,
      endIdle: async (stageId) => void ended.push(stageId),
    });
    onTestFinished(watch.stop);
    const list = vi.spyOn(store.read.sessions, 'list');
    /** Lets the watch check once, and waits for the end of that. */
    const check = async (ms: number) => {
      const before = list.mock.results.length;
      await pass(ms);
      await vi.waitFor(() => expect(list.mock.results.length).toBeGreaterThan(before));
      await list.mock.results.at(-1)?.value;
    };
    await session.emit(turnEnded());
    await check(MINUTE);
    jump(jumpMs);
    await check(58 * MINUTE);
    expect(ended).toEqual([]);
    await check(3 * MINUTE);
    await vi.waitFor(() => expect(ended).toContain(session.stageId));
  },
);

type SetUp = Awaited<ReturnType<typeof setUp>>;

/** A watch over a session that prints nothing from now on. Returns the sessions that it asked. */
function watchSilence({ session, store, platform }: Pick<SetUp, 'session' | 'store' | 'platform'>) {
  const heard = { at: platform.now(), uptimeMs: platform.uptimeMs() };
  const lastHeard = () => ({ at: heard.at, silentMs: platform.uptimeMs() - heard.uptimeMs, isTurnOver: false });
  const executor = { launch: { stageId: session.stageId }, lastHeard };
  const asked: StageId[] = [];
  const watch = startSilenceWatch({
    store,
    log: silent,
    silenceMs: 10 * MINUTE,
    checkIntervalMs: MINUTE,
    running: () => [executor],
    onSilent: (stageId) => asked.push(stageId),
  });
  onTestFinished(watch.stop);
  return { asked, since: heard.at.toISOString() };
}

it.each([0, DAY, -DAY])(
  'measures silence by the monotonic clock, even if the time of day jumps by %i ms',
  async (jumpMs) => {
    const { session, store, platform, pass, jump } = await setUp();
    const find = vi.spyOn(store.read.sessions, 'find');
    const { asked, since } = watchSilence({ session, store, platform });
    const check = async (times: number) => {
      for (let nth = 0; nth < times; nth++) {
        const before = find.mock.results.length;
        await pass(MINUTE);
        await vi.waitFor(() => expect(find.mock.results.length).toBeGreaterThan(before));
        await find.mock.results.at(-1)?.value;
      }
    };
    jump(jumpMs);
    await check(9);
    expect((await session.record()).stalledSince).toBeNull();
    await check(1);
    await vi.waitFor(async () => expect((await session.record()).stalledSince).toBe(since));
    await check(5);
    expect(asked).toEqual([session.stageId]);
  },
);

it('asks a person once about a background command that is silent for long', async () => {
  const { session, store, platform, pass } = await setUp();
  const task = { taskId: 'b1', type: 'local_bash', description: 'Serve' };
  await session.emit({ type: 'tasks', tasks: [task] }, turnEnded());
  const find = vi.spyOn(store.read.sessions, 'find');
  const { since } = watchSilence({ session, store, platform });
  const check = async () => {
    const before = find.mock.results.length;
    await pass(11 * MINUTE);
    await vi.waitFor(() => expect(find.mock.results.length).toBeGreaterThan(before));
    await store.transact(async () => undefined); // after the transaction of the look
  };
  await check();
  expect(await session.record()).toMatchObject({ state: 'idle', stalledSince: since });
  const change = (mark: 'work' | 'keep-running') =>
    store.transact((tx) =>
      changeSession(tx, session.stageId, (one) => {
        one.record = markTask(one.record, 'b1', mark);
      }),
    );
  for (const mark of ['work', 'keep-running'] as const) {
    await change(mark);
    await check();
    expect(await session.record()).toMatchObject({ stalledSince: null, backgroundTasks: [{ mark }] });
  }
});

it('asks a silent session once, even if a look takes longer than the time between two', async () => {
  const { session, store, platform, pass } = await setUp();
  const gate = Promise.withResolvers<void>();
  const sessions = withFields(store.read.sessions, {
    async find(stageId) {
      await gate.promise;
      return store.read.sessions.find(stageId);
    },
  });
  const slow = withFields(store, { read: withFields(store.read, { sessions }) });
  const { asked } = watchSilence({ session, store: slow, platform });
  await pass(13 * MINUTE);
  gate.resolve();
  await vi.waitFor(() => expect(asked).toEqual([session.stageId]));
  await store.transact(async () => undefined); // behind whatever those looks store
  expect(asked).toEqual([session.stageId]);
});

it('ends the other idle processes even if one does not end', async () => {
  const { session, store, platform, addStage, ...test } = await setUp();
  const second = await busyTestSession({}, { store, platform, addStage, ...test });
  for (const each of [session, second]) await each.emit(turnEnded());
  const asked: StageId[] = [];
  const endIdle = async (stageId: StageId) => {
    asked.push(stageId);
    throw new Error('it does not end');
  };
  const watch = startIdleWatch({ store, platform, log: silent, idleMs: MINUTE, endIdle });
  onTestFinished(watch.stop);
  await watch.endAllIdle();
  expect(asked.toSorted()).toEqual([session.stageId, second.stageId].toSorted());
});
