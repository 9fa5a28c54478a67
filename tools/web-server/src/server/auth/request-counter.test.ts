import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RequestCounter } from './request-counter.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('opens a new window after its time, also when the time of day was set back meanwhile', () => {
  const counter = new RequestCounter();
  const counts: number[] = [];
  const count = () => counter.incr('key', (_error, { current }) => counts.push(current), 1_000, 100);
  count();
  count();
  vi.setSystemTime(Date.now() - 24 * 3_600_000);
  count();
  vi.advanceTimersByTime(1_000);
  count();
  expect(counts).toEqual([1, 2, 3, 1]);
});
