import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { asked, busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject, silent } from '../../../test/support/test-store.ts';
import { Rejection } from '../../lib/errors.ts';
import { startTimeLimits } from './approvals.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A session with an open request, in a project whose requests expire after ten minutes. */
async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  const settings = { requestTimeoutMs: 10 * MINUTE };
  await test.store.transact((tx) => tx.projects.save(sampleProject({ settings })));
  const session = await busyTestSession({}, test);
  const expired: string[] = [];
  const start = async (expire = async ({ requestId }: { requestId: string }) => void expired.push(requestId)) => {
    const limits = await startTimeLimits({ store: test.store, platform: clocks.platform, log: silent, expire });
    onTestFinished(limits.stop);
    return limits;
  };
  return { ...clocks, session, expired, start };
}

it('denies once, when the time limit is reached, and not before', async () => {
  const { session, expired, start, pass } = await setUp();
  await start();
  await session.emit(asked('r1'));
  await pass(9 * MINUTE);
  expect(expired).toEqual([]);
  await pass(MINUTE);
  await vi.waitFor(() => expect(expired).toEqual(['r1']));
  await pass(60 * MINUTE);
  expect(expired).toEqual(['r1']);
});

it.each([DAY, -DAY])('waits equally long when the wall clock jumps by %i ms', async (jumpMs) => {
  const { session, expired, start, pass, jump } = await setUp();
  await start();
  await session.emit(asked('r1'));
  jump(jumpMs);
  await session.emit(asked('r2', { toolUseId: 'toolu_2' }));
  await pass(9 * MINUTE);
  expect(expired).toEqual([]);
  await pass(MINUTE);
  await vi.waitFor(() => expect(expired.toSorted()).toEqual(['r1', 'r2']));
});

it('counts the wait before a restart, and never waits longer than the limit after the clock jumps back', async () => {
  const { session, expired, start, pass } = await setUp();
  (await start()).stop();
  await session.emit(asked('r1'));
  await pass(4 * MINUTE);
  (await start()).stop();
  await start();
  await pass(5 * MINUTE);
  expect(expired).toEqual([]);
  await pass(MINUTE);
  await vi.waitFor(() => expect(expired).toEqual(['r1']));

  const other = await setUp();
  await other.session.emit(asked('r1'));
  other.jump(-DAY);
  await other.start();
  await other.pass(10 * MINUTE);
  await vi.waitFor(() => expect(other.expired).toEqual(['r1']));
});

it('retries after the store fails, and gives up if somebody answered first', async () => {
  const { session, start, pass } = await setUp();
  let tries = 0;
  await start(async () => {
    tries += 1;
    if (tries === 1) throw new Error('disk full');
    throw new Rejection('already_decided', 'too late');
  });
  await session.emit(asked('r1'));
  await pass(10 * MINUTE);
  await vi.waitFor(() => expect(tries).toBe(1));
  // The retry is scheduled a moment after the failure.
  await vi.waitFor(async () => {
    await pass(5_000);
    expect(tries).toBe(2);
  });
  await pass(60 * MINUTE);
  expect(tries).toBe(2);
});

it('leaves no timer behind when it is stopped during a check', async () => {
  const { session, start, pass } = await setUp();
  const gate = Promise.withResolvers<void>();
  let isExpiring = false;
  const limits = await start(async () => {
    isExpiring = true;
    await gate.promise;
    throw new Error('the store is closed');
  });
  await session.emit(asked('r1'));
  await pass(10 * MINUTE);
  await vi.waitFor(() => expect(isExpiring).toBe(true));
  limits.stop();
  const before = vi.getTimerCount();
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(vi.getTimerCount()).toBe(before);
});
