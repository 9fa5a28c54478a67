import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createRetryTimer } from './async.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The times of the retries, in seconds; each leaves what the last attempt left. */
function setUp() {
  const retries: number[] = [];
  let left = new Set<string>();
  const began = Date.now();
  const timer = createRetryTimer<string>(
    () => {
      retries.push((Date.now() - began) / 1_000);
      timer.attempted(left);
    },
    { firstMs: 3_000, maxMs: 10_000 },
  );
  return {
    retries,
    stop: timer.stop,
    attempt(...names: string[]) {
      left = new Set(names);
      timer.attempted(left);
    },
    /** What is tried next can be done. */
    repair() {
      left = new Set();
    },
    pass: (seconds: number) => vi.advanceTimersByTime(seconds * 1_000),
  };
}

it('retries at growing intervals, up to the longest one, until nothing is left', () => {
  const { retries, attempt, repair, pass } = setUp();
  attempt('a');
  pass(39);
  expect(retries).toEqual([3, 9, 19, 29, 39]);
  repair();
  pass(100);
  expect(retries).toEqual([3, 9, 19, 29, 39, 49]);
});

it('does not put the next retry off for attempts that are made for other reasons', () => {
  const { retries, attempt, pass } = setUp();
  for (let n = 0; n < 20; n++) attempt('a');
  pass(3);
  expect(retries).toEqual([3]);
});

it.each([
  ['something else is left as well', ['a', 'b']],
  ['something else is left', ['b']],
])('begins with the first interval again once %s', (_when, names) => {
  const { retries, attempt, pass } = setUp();
  attempt('a');
  pass(10);
  attempt(...names);
  pass(3);
  expect(retries).toEqual([3, 9, 13]);
});

it('begins with the first interval again after all could be done', () => {
  const { retries, attempt, pass } = setUp();
  attempt('a');
  pass(9);
  attempt();
  attempt('a');
  pass(3);
  expect(retries).toEqual([3, 9, 12]);
});

it('retries nothing once it is stopped', () => {
  const { retries, attempt, stop, pass } = setUp();
  attempt('a');
  stop();
  pass(60);
  expect(retries).toEqual([]);
});
