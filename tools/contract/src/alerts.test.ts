import { expect, it } from 'vitest';
import { QuietHours, quietUntil } from './alerts.ts';

const NIGHT = { from: '22:00', to: '07:00', days: [0, 1, 2, 3, 4, 5, 6], timeZone: 'Europe/Berlin' };
const until = (quiet: QuietHours | null, at: string) => quietUntil(quiet, new Date(at))?.toISOString() ?? null;

it('is never quiet without quiet hours', () => {
  expect(until(null, '2026-01-02T03:04:05Z')).toBeNull();
});

it.each([
  ['before it begins', '2026-01-02T20:59:59Z', null],
  ['as it begins', '2026-01-02T21:00:00Z', '2026-01-03T06:00:00.000Z'],
  ['at midnight there', '2026-01-02T23:00:30Z', '2026-01-03T06:00:00.000Z'],
  ['shortly before it ends', '2026-01-03T05:59:59Z', '2026-01-03T06:00:00.000Z'],
  ['as it ends', '2026-01-03T06:00:00Z', null],
  ['in summer, by the clock there', '2026-07-02T20:00:00Z', '2026-07-03T05:00:00.000Z'],
])('knows the time where the person is: %s', (_, at, expected) => {
  expect(until(NIGHT, at)).toBe(expected);
});

it('counts the day on which a night begins', () => {
  const friday = { ...NIGHT, days: [5] }; // 2026-01-02 is a Friday
  expect(until(friday, '2026-01-02T22:00:00Z')).not.toBeNull();
  expect(until(friday, '2026-01-03T04:00:00Z')).not.toBeNull();
  expect(until(friday, '2026-01-03T22:00:00Z')).toBeNull();
  expect(until(friday, '2026-01-02T04:00:00Z')).toBeNull();
});

it('takes hours within a day, and whole days', () => {
  const lunch = { from: '12:00', to: '13:00', days: [5], timeZone: 'UTC' };
  expect(until(lunch, '2026-01-02T12:30:00Z')).toBe('2026-01-02T13:00:00.000Z');
  expect(until(lunch, '2026-01-02T13:00:00Z')).toBeNull();
  const sunday = { from: '00:00', to: '00:00', days: [0], timeZone: 'UTC' };
  expect(until(sunday, '2026-01-04T00:00:00Z')).toBe('2026-01-05T00:00:00.000Z');
  expect(until(sunday, '2026-01-05T00:00:00Z')).toBeNull();
});

it.each([{ from: '24:00' }, { to: '7:00' }, { days: [] }, { days: [7] }, { timeZone: 'Nowhere/Town' }])(
  'refuses %o',
  (fields) => {
    expect(QuietHours.safeParse({ ...NIGHT, ...fields }).success).toBe(false);
  },
);
