import { expect, it } from 'vitest';
import { decision, request } from '../../../test/samples.ts';
import { decisionThatStands } from './conflict.ts';

it('knows a decision that stands, that of the time limit among them, from a request that was only closed', () => {
  const asked = request('STAGE-1', 'r1');
  for (const outcome of ['allowed', 'denied', 'answered', 'timed-out'] as const) {
    const made = decision(asked, { outcome });
    expect(decisionThatStands({ decision: made })).toBe(made);
  }
  expect(decisionThatStands({ decision: decision(asked, { outcome: 'closed' }) })).toBeNull();
  expect(decisionThatStands({ decision: null })).toBeNull();
});
