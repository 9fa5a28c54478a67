import type { StageView } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { summaryOf } from '../../store/records.ts';
import { startWaitClock } from './limits.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const MINUTE = 60_000;
const CHECK_INTERVAL_MS = 15_000;

/** A session that waits for ten minutes, once `wait` is called. */
async function setUp() {
  const clocks = setClocks();
  const session = await busyTestSession({}, await openTestStore(clocks.platform));
  const { store, stageId } = session;
  await session.emit({
    type: 'turn-ended',
    end: { outcome: 'failed', message: null, durationMs: 1, costUsd: null, tokens: null },
  });
  const due = vi.fn();
  const start = async () => {
    const clock = await startWaitClock({
      store,
      platform: clocks.platform,
      checkIntervalMs: CHECK_INTERVAL_MS,
      onDue: due,
    });
    onTestFinished(clock.stop);
    return clock;
  };
  const wait = (ms: number | null = 10 * MINUTE) =>
    store.transact((tx) =>
      changeSession(tx, stageId, (change) => {
        const now = clocks.platform.now();
        const at = ms === null ? null : new Date(now.getTime() + ms).toISOString();
        const limitWait = { since: now.toISOString(), window: null, resetsAt: at, goesOnAt: at };
        change.record = { ...change.record, limitWait };
      }),
    );
  const stage = async (): Promise<Pick<StageView, 'id' | 'completedAt' | 'session'>> => ({
    id: stageId,
    completedAt: null,
    session: summaryOf(await session.record()),
  });
  return { ...clocks, due, start, wait, stage };
}

it('calls when the wait is over, not before, and again until the stage goes on', async () => {
  const { due, start, wait, stage, pass } = await setUp();
  const clock = await start();
  await wait();
  await pass(10 * MINUTE - 1);
  expect(due).not.toHaveBeenCalled();
  expect(clock.isDue(await stage())).toBe(false);
  await pass(1);
  expect(due).toHaveBeenCalledTimes(1);
  expect(clock.isDue(await stage())).toBe(true);
  await pass(CHECK_INTERVAL_MS);
  expect(due).toHaveBeenCalledTimes(2);
  await wait(null);
  await pass(10 * CHECK_INTERVAL_MS);
  expect(due).toHaveBeenCalledTimes(2);
  expect(clock.isDue(await stage())).toBe(false);
});

it('finds a wait from before a restart, and one that ended meanwhile', async () => {
  const { due, start, wait, stage, pass } = await setUp();
  await wait();
  await pass(4 * MINUTE);
  (await start()).stop();
  await pass(7 * MINUTE);
  const clock = await start();
  expect(clock.isDue(await stage())).toBe(true);
  await pass(CHECK_INTERVAL_MS);
  expect(due).toHaveBeenCalled();
});

it('waits no longer when the time of day is set back, also over a restart', async () => {
  const { start, wait, stage, pass, jump } = await setUp();
  const clock = await start();
  await wait();
  jump(-24 * 60 * MINUTE);
  await pass(9 * MINUTE);
  expect(clock.isDue(await stage())).toBe(false);
  await pass(MINUTE);
  expect(clock.isDue(await stage())).toBe(true);
  clock.stop();
  const next = await start();
  await pass(10 * MINUTE);
  expect(next.isDue(await stage())).toBe(true);
});

it('notices soon that the time of day was set forward', async () => {
  const { due, start, wait, stage, pass, jump } = await setUp();
  const clock = await start();
  await wait();
  jump(24 * 60 * MINUTE);
  await pass(CHECK_INTERVAL_MS);
  expect(due).toHaveBeenCalled();
  expect(clock.isDue(await stage())).toBe(true);
});
