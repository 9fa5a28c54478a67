import { expect, it, onTestFinished, vi } from 'vitest';
import { createReadThrottle } from './channel.ts';

/** The throttle after `count` readers have read for a second, ten times each. */
function throttleOf(count: number) {
  const clock = { now: 0 };
  const throttle = createReadThrottle(() => clock.now);
  for (; clock.now < 1_000; clock.now += 100) {
    for (let reader = 0; reader < count; reader++) throttle.rest(reader, () => undefined)();
  }
  return { clock, throttle };
}

it('lets a few readers resume at once, and makes hundreds rest', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const rested: string[] = [];
  throttleOf(3).throttle.rest(0, () => rested.push('one of a few'));
  throttleOf(400).throttle.rest(0, () => rested.push('one of hundreds'));
  vi.advanceTimersByTime(90);
  expect(rested).toEqual(['one of a few']);
  vi.advanceTimersByTime(8);
  expect(rested).toEqual(['one of a few']);
  vi.runAllTimers();
  expect(rested).toEqual(['one of a few', 'one of hundreds']);
});

it('forgets readers that have stopped reading', () => {
  const { clock, throttle } = throttleOf(400);
  clock.now += 10_000;
  const order: string[] = [];
  throttle.rest(0, () => order.push('rested'));
  return new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => expect(order).toEqual(['rested']));
});

it('ends a rest early on request', () => {
  const { throttle } = throttleOf(400);
  let times = 0;
  const endRest = throttle.rest(0, () => (times += 1));
  endRest();
  expect(times).toBe(1);
});
