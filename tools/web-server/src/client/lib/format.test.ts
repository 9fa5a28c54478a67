import { expect, it } from 'vitest';
import { cost } from './format.ts';

it('shows small amounts with one more digit', () => {
  expect([cost(0), cost(0.034), cost(1.2)]).toEqual(['$0.00', '$0.034', '$1.20']);
});
