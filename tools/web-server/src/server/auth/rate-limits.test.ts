import { expect, it } from 'vitest';
import { createRequestLimit } from './rate-limits.ts';

const setUp = () => {
  const clock = { now: 0 };
  const limit = createRequestLimit(2, () => clock.now);
  const isTaken = (key: string) => {
    try {
      limit.count(key);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ kind: 'rejection', code: 'too_many_requests' });
      return false;
    }
  };
  return { clock, isTaken };
};

it('limits the requests of a key in a second, and starts again in the next one', () => {
  const { clock, isTaken } = setUp();
  expect(['a', 'a', 'a', 'b'].map(isTaken)).toEqual([true, true, false, true]);
  clock.now = 999;
  expect(isTaken('a')).toBe(false);
  clock.now = 1_000;
  expect(['a', 'a', 'a'].map(isTaken)).toEqual([true, true, false]);
});

it('forgets the oldest window if there are too many keys', () => {
  const { isTaken } = setUp();
  expect(['a', 'a', 'a'].map(isTaken)).toEqual([true, true, false]);
  for (let n = 0; n < 5_000; n += 1) isTaken(`other ${n}`);
  expect(isTaken('a')).toBe(true);
});
