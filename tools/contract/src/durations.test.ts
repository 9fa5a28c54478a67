import { expect, it } from 'vitest';
import { exactDuration, shortDuration } from './text.ts';

it.each([
  [-5, '0 s'],
  [12_400, '12 s'],
  [252_000, '4 min'],
  [3 * 3_600_000, '3 h'],
  [50 * 3_600_000, '2 d'],
])('shows %i ms in one unit', (ms, text) => expect(shortDuration(ms)).toBe(text));

it.each([
  [340, '0.3 s'],
  [12_400, '12 s'],
  [252_000, '4 min 12 s'],
  [240_000, '4 min'],
  [3_900_000, '1 h 5 min'],
])('shows %i ms in two units', (ms, text) => expect(exactDuration(ms)).toBe(text));
