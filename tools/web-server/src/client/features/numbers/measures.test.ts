import { expect, it } from 'vitest';
import { formatValue, shortValue, ticksOf } from './figures.ts';

const HOUR_MS = 3_600_000;

it('puts at most five steps of a size that people count in above zero', () => {
  const text = (ms: number) => ticksOf('duration', ms).map((tick) => shortValue('duration', tick));
  expect(text(7_000)).toEqual(['0', '2 s', '4 s', '6 s', '8 s']);
  expect(text(2 * HOUR_MS)).toEqual(['0', '30 min', '60 min', '90 min', '2 h']);
  expect(text(3 * 24 * HOUR_MS)).toEqual(['0', '2 d', '4 d']);
  expect(ticksOf('money', 0.37)).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
  expect(ticksOf('tokens', 812_000)).toEqual([0, 200_000, 400_000, 600_000, 800_000, 1_000_000]);
  expect(ticksOf('percent', 3)).toEqual([0, 25, 50, 75, 100]);
});

it('has an axis also where everything is 0, and whole steps where parts make no sense', () => {
  expect(ticksOf('money', 0)).toEqual([0, 1]);
  expect(ticksOf('count', 2)).toEqual([0, 1, 2]);
});

it('writes values in full and short', () => {
  expect(formatValue('tokens', 812_345)).toBe('812,345 tokens');
  expect(shortValue('tokens', 812_345)).toBe('812.3K');
  expect(formatValue('duration', 5_400_000)).toBe('1 h 30 min');
  expect([shortValue('money', 4.2), shortValue('money', 42.4)]).toEqual(['$4.20', '$42']);
});
