import { expect, it } from 'vitest';
import { lastDays } from './numbers.ts';

const hours = ({ from, to }: { from: string; to: string }) => (Date.parse(to) - Date.parse(from)) / 3_600_000;

it('ends with today as the person’s clock shows it', () => {
  const now = new Date('2026-01-01T02:00:00.000Z');
  expect(lastDays(now, 1, 'America/New_York').map(({ day }) => day)).toEqual(['2025-12-31']);
  expect(lastDays(now, 1, 'UTC').map(({ day }) => day)).toEqual(['2026-01-01']);
  expect(lastDays(now, 2, 'Pacific/Kiritimati')).toEqual([
    { day: '2025-12-31', from: '2025-12-30T10:00:00.000Z', to: '2025-12-31T10:00:00.000Z' },
    { day: '2026-01-01', from: '2025-12-31T10:00:00.000Z', to: '2026-01-01T10:00:00.000Z' },
  ]);
});

it('has a day of 23 hours and one of 25 where the clocks change', () => {
  const spring = lastDays(new Date('2026-03-30T12:00:00.000Z'), 3, 'Europe/Berlin');
  expect(spring.map((day) => [day.day, hours(day)])).toEqual([
    ['2026-03-28', 24],
    ['2026-03-29', 23],
    ['2026-03-30', 24],
  ]);
  const autumn = lastDays(new Date('2026-10-26T12:00:00.000Z'), 3, 'Europe/Berlin');
  expect(autumn.map(hours)).toEqual([24, 25, 24]);
});

it('begins a day at one o’clock where the clocks are set forward at midnight', () => {
  const [day] = lastDays(new Date('2018-11-04T12:00:00.000Z'), 1, 'America/Sao_Paulo');
  expect(day).toEqual({ day: '2018-11-04', from: '2018-11-04T03:00:00.000Z', to: '2018-11-05T02:00:00.000Z' });
});

it('leaves no gap between the days of a year, and no overlap', () => {
  for (const zone of ['Europe/Berlin', 'Australia/Lord_Howe', 'Pacific/Chatham', 'UTC']) {
    const days = lastDays(new Date('2026-11-24T12:00:00.000Z'), 366, zone);
    expect(days).toHaveLength(366);
    for (const [at, day] of days.slice(1).entries()) expect(day.from).toBe(days[at]?.to);
  }
});
