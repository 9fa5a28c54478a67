import { expect, it } from 'vitest';
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

const rested = (rest: (onRested: () => void) => () => void) =>
  new Promise<number>((resolve) => {
    const begun = performance.now();
    rest(() => resolve(performance.now() - begun));
  });

it('lets a few readers resume at once, and makes hundreds rest', async () => {
  const [few, many] = [throttleOf(3), throttleOf(400)];
  expect(await rested((done) => many.throttle.rest(0, done))).toBeGreaterThanOrEqual(99);
  expect(await rested((done) => few.throttle.rest(0, done))).toBeLessThan(90);
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
