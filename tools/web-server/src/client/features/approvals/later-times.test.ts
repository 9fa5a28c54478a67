import { expect, it } from 'vitest';
import { laterTimes } from './request-section.tsx';

it('offers a quarter of an hour, an hour, tomorrow morning, and no reminder', () => {
  const now = new Date(2026, 0, 31, 17, 30);
  const times = laterTimes(now).map(({ until }) => until);
  expect(times).toEqual([
    new Date(2026, 0, 31, 17, 45),
    new Date(2026, 0, 31, 18, 30),
    new Date(2026, 1, 1, 9, 0),
    null,
  ]);
});
