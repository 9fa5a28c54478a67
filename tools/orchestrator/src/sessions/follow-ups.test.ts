import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../test/support/set-clocks.ts';
import { begun, busyTestSession, turnEnded } from '../../test/support/test-session.ts';
import { openTestStore, silent } from '../../test/support/test-store.ts';
import { type FollowUp, startFollowUps } from './follow-ups.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A session in the midst of a turn, and a log of what was done. */
async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.edges);
  const session = await busyTestSession({}, test);
  const followUps = await startFollowUps({ store: test.store, edges: clocks.edges, log: silent });
  onTestFinished(followUps.stop);
  const done: string[] = [];
  const add = (name: string, work: FollowUp = async () => undefined, latestMs?: number) =>
    followUps.add(
      session.stageId,
      name,
      (signal) => {
        done.push(name);
        return work(signal);
      },
      latestMs,
    );
  /** The turn ends, or another one begins. */
  const rest = () => session.tell(turnEnded());
  const begin = () => session.tell(begun());
  return { ...clocks, followUps, stageId: session.stageId, done, add, rest, begin };
}

const untilAborted: FollowUp = async (signal) => {
  await once(signal, 'abort');
  throw new Error('it was cut off');
};

it('waits for the end of the turn, and for a second in which nothing happens', async () => {
  const { followUps, stageId, pass, add, done, rest } = await setUp();
  add('count');
  await pass(60_000);
  expect(done).toEqual([]);
  await rest();
  await pass(999);
  expect(done).toEqual([]);
  followUps.stir(stageId); // a line comes
  await pass(999);
  expect(done).toEqual([]);
  await pass(1);
  expect(done).toEqual(['count']);
  add('count'); // the session has been quiet for long enough
  await pass(10);
  expect(done).toEqual(['count', 'count']);
});

it('does one after another, and of what waits under one name the newest alone', async () => {
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

it('is cut off by a turn that begins, and done again after it; a failure is not', async () => {
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

it('is done beside a turn where it may not wait for longer', async () => {
  const { pass, add, done } = await setUp();
  add('count');
  add('check', undefined, 5_000);
  await pass(4_999);
  expect(done).toEqual([]);
  await pass(1);
  expect(done).toEqual(['check']);
});

it('ends what runs when it is stopped, and begins nothing more', async () => {
  const { followUps, pass, add, done, rest } = await setUp();
  const ended = vi.fn();
  add('hangs', (signal) => untilAborted(signal).finally(ended));
  add('count');
  await rest();
  await pass(1_000);
  await followUps.stop();
  expect(ended).toHaveBeenCalled();
  await pass(60_000);
  expect(done).toEqual(['hangs']);
});
