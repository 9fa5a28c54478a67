import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { begun, busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { type LowPriorityTask, startLowPriorityWork } from './low-priority-work.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A session in the middle of a turn, and a log of the work that ran. */
async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  const session = await busyTestSession({}, test);
  const lowPriorityWork = await startLowPriorityWork({ store: test.store, platform: clocks.platform, log: silent });
  onTestFinished(lowPriorityWork.stop);
  const done: string[] = [];
  const add = (name: string, work: LowPriorityTask = async () => undefined, latestMs?: number) =>
    lowPriorityWork.add(
      session.stageId,
      name,
      (signal) => {
        done.push(name);
        return work(signal);
      },
      latestMs,
    );
  const rest = () => session.emit(turnEnded());
  const begin = () => session.emit(begun());
  return { ...clocks, lowPriorityWork, stageId: session.stageId, done, add, rest, begin };
}

const untilAborted: LowPriorityTask = async (signal) => {
  await once(signal, 'abort');
  throw new Error('it was aborted');
};

it('runs after the end of the turn and a quiet second', async () => {
  const { lowPriorityWork, stageId, pass, add, done, rest } = await setUp();
  add('count');
  await pass(60_000);
  expect(done).toEqual([]);
  await rest();
  await pass(999);
  expect(done).toEqual([]);
  lowPriorityWork.recordActivity(stageId); // the process prints a line
  await pass(999);
  expect(done).toEqual([]);
  await pass(1);
  expect(done).toEqual(['count']);
  add('count'); // the session has been quiet long enough
  await pass(10);
  expect(done).toEqual(['count', 'count']);
});

it('runs one task at a time, and only the newest of the waiting tasks with one name', async () => {
  const { pass, add, done, rest } = await setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  add('context', () => Promise.reject(new Error('this one was replaced')));
  add('count', () => promise);
  add('context');
  await rest();
  await pass(1_000);
  await pass(60_000);
  expect(done).toEqual(['count']);
  resolve();
  await promise;
  await pass(10);
  expect(done).toEqual(['count', 'context']);
});

it('is aborted when a turn begins and runs again after it; a task that failed does not', async () => {
  const { pass, add, done, rest, begin } = await setUp();
  add('fails', () => Promise.reject(new Error('it does not work')));
  add('hangs', untilAborted);
  await rest();
  await pass(1_000);
  await pass(10);
  expect(done).toEqual(['fails', 'hangs']);
  await begin();
  await pass(60_000);
  expect(done).toEqual(['fails', 'hangs']);
  await rest();
  await pass(1_000);
  expect(done).toEqual(['fails', 'hangs', 'hangs']);
});

it('runs during a turn when its time limit has passed', async () => {
  const { pass, add, done } = await setUp();
  add('count');
  add('check', undefined, 5_000);
  await pass(4_999);
  expect(done).toEqual([]);
  await pass(1);
  expect(done).toEqual(['check']);
});

it('aborts the running task when it is stopped, and starts no other', async () => {
  const { lowPriorityWork, pass, add, done, rest } = await setUp();
  const ended = vi.fn();
  add('hangs', (signal) => untilAborted(signal).finally(ended));
  add('count');
  await rest();
  await pass(1_000);
  await lowPriorityWork.stop();
  expect(ended).toHaveBeenCalled();
  await pass(60_000);
  expect(done).toEqual(['hangs']);
});
