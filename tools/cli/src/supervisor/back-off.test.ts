import { expect, it } from 'vitest';
import { createBackOff } from './server-process.ts';

const limits = { firstMs: 100, capMs: 1_000, resetMs: 10_000 };

it('doubles up to the cap and never gives up', () => {
  const backOff = createBackOff(limits, () => 0);
  expect(Array.from({ length: 7 }, () => backOff.down())).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

it('has another cap where it is given one', () => {
  const backOff = createBackOff(limits, () => 0);
  expect(Array.from({ length: 7 }, () => backOff.down(5_000))).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000]);
  expect(backOff.down()).toBe(1_000);
});

it('starts over after some time up', () => {
  const clock = { now: 0 };
  const backOff = createBackOff(limits, () => clock.now);
  backOff.down();
  backOff.up();
  clock.now += 9_999;
  expect(backOff.down()).toBe(200);
  backOff.up();
  clock.now += 10_000;
  expect(backOff.down()).toBe(100);
});

it('does not count the time of a failed start', () => {
  const clock = { now: 0 };
  const backOff = createBackOff(limits, () => clock.now);
  backOff.up();
  backOff.down();
  clock.now += 60_000;
  expect(backOff.down()).toBe(200);
});
