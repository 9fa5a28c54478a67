import { expect, it } from 'vitest';
import { createPace } from './read-throttle.ts';

/** The pace after `count` readers have read for a second, each ten times. */
function paceOf(count: number) {
  const clock = { now: 0 };
  const pace = createPace(() => clock.now);
  for (; clock.now < 1_000; clock.now += 100) {
    for (let reader = 0; reader < count; reader++) pace.rest(reader, () => undefined)();
  }
  return { clock, pace };
}

const rested = (rest: (onRested: () => void) => () => void) =>
  new Promise<number>((resolve) => {
    const begun = performance.now();
    rest(() => resolve(performance.now() - begun));
  });

it('lets a few readers go on at once, and hundreds rest', async () => {
  const [few, many] = [paceOf(3), paceOf(400)];
  expect(await rested((done) => many.pace.rest(0, done))).toBeGreaterThanOrEqual(99);
  expect(await rested((done) => few.pace.rest(0, done))).toBeLessThan(90);
});

it('forgets readers that read no more', () => {
  const { clock, pace } = paceOf(400);
  clock.now += 10_000;
  const order: string[] = [];
  pace.rest(0, () => order.push('rested'));
  return new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => expect(order).toEqual(['rested']));
});

it('ends a rest when told to', () => {
  const { pace } = paceOf(400);
  let times = 0;
  const hurry = pace.rest(0, () => (times += 1));
  hurry();
  expect(times).toBe(1);
});
