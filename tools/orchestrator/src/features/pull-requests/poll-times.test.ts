import { StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createPollTimes, pollDelayMs } from './watch-pull-requests.ts';

const delay = (facts: Partial<Parameters<typeof pollDelayMs>[0]>, random = 0.5) =>
  pollDelayMs({ failures: 0, unchanged: 0, isAnimated: false, ...facts }, 60_000, random);

it('asks soon while something happens, seldom while nothing does, and backs off from a host that cannot be asked', () => {
  expect(delay({ isAnimated: true })).toBe(15_000);
  expect([0, 9, 10, 20, 500].map((unchanged) => delay({ unchanged }))).toEqual([
    ...[60_000, 60_000, 120_000, 240_000, 300_000],
  ]);
  expect([1, 2, 3, 50].map((failures) => delay({ failures, isAnimated: true }))).toEqual([
    ...[60_000, 120_000, 240_000, 900_000],
  ]);
  expect([delay({}, 0), delay({}, 1)]).toEqual([48_000, 72_000]);
});

it('takes each stage once until it was asked, and is lively again after a push', () => {
  let now = 0;
  const times = createPollTimes({ uptimeMs: () => now, usualMs: 60_000 }, () => 0.5);
  const [one, two] = [StageId.parse('STAGE-1'), StageId.parse('STAGE-2')];
  expect(times.untilNextMs()).toBeNull();
  times.see(one, 'a');
  times.see(two, 'a');
  expect(times.takeDue()).toEqual([one, two]);
  expect(times.takeDue()).toEqual([]);
  expect(times.untilNextMs()).toBeNull();
  times.asked(one, 'same');
  expect(times.untilNextMs()).toBe(15_000);
  now = 11 * 60_000;
  expect(times.takeDue()).toEqual([one]);
  times.asked(one, 'same');
  expect(times.untilNextMs()).toBe(60_000);
  times.see(one, 'b');
  now += 60_000;
  times.takeDue();
  times.asked(one, 'changed');
  expect(times.untilNextMs()).toBe(15_000);
  times.forget(one);
  expect(times.untilNextMs()).toBeNull();
});
