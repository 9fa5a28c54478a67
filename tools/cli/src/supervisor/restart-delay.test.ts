import { expect, it } from 'vitest';
import { createRestartDelay } from './server-process.ts';

const limits = { firstMs: 100, maxMs: 1_000, resetMs: 10_000 };

it('doubles up to the cap and never gives up', () => {
  const delay = createRestartDelay(limits, () => 0);
  expect(Array.from({ length: 7 }, () => delay.down())).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

it('has another cap where it is given one', () => {
  const delay = createRestartDelay(limits, () => 0);
  expect(Array.from({ length: 7 }, () => delay.down(5_000))).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000]);
  expect(delay.down()).toBe(1_000);
});

it('starts over after some time up', () => {
  const clock = { now: 0 };
  const delay = createRestartDelay(limits, () => clock.now);
  delay.down();
  delay.up();
  clock.now += 9_999;
  expect(delay.down()).toBe(200);
  delay.up();
  clock.now += 10_000;
  expect(delay.down()).toBe(100);
});

it('does not count the time of a failed start', () => {
  const clock = { now: 0 };
  const delay = createRestartDelay(limits, () => clock.now);
  delay.up();
  delay.down();
  clock.now += 60_000;
  expect(delay.down()).toBe(200);
});
