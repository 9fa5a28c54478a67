import { expect, it } from 'vitest';
import { compareVersions } from './text.ts';

it.each([
  ['2.1.330', '2.1.340', -1],
  ['2.1.99', '2.1.100', -1],
  ['3.0', '2.9.9', 1],
  ['2.1', '2.1.0', 0],
] as const)('orders %s and %s', (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
});
