import { expect, it } from 'vitest';
import { AT } from '../test/samples.ts';
import { limitState, UsageLimits } from './limits.ts';

const LATER = '2026-01-02T05:00:00.000Z';
const PAST = '2026-01-02T03:00:00.000Z';

const limits = (fields: Record<string, unknown>) =>
  UsageLimits.parse({
    status: 'allowed',
    window: 'five_hour',
    resetsAt: LATER,
    isUsingOverage: false,
    windows: [],
    at: PAST,
    ...fields,
  });
const window = (name: string, utilization: number | null, more: Record<string, unknown> = {}) => ({
  name,
  utilization,
  status: null,
  resetsAt: LATER,
  ...more,
});
const at = (fields: Record<string, unknown>) => limitState(limits(fields), 0.9, AT).state;

it('is quiet without limits', () => {
  expect(limitState(null, 0.9, AT).state).toBe('allowed');
});

it('says that a limit is reached until it resets, for ever if that is not known', () => {
  expect(at({ status: 'reached' })).toBe('reached');
  expect(at({ status: 'reached', resetsAt: null })).toBe('reached');
  expect(at({ status: 'reached', resetsAt: PAST })).toBe('allowed');
});

it('says that a limit is near from the threshold on, whatever window that is', () => {
  const windows = [window('five_hour', 0.5), window('seven_day', 0.93)];
  expect(limitState(limits({ windows }), 0.9, AT)).toEqual({
    state: 'near',
    window: 'seven_day',
    utilization: 0.93,
    resetsAt: LATER,
  });
  expect(at({ windows: [window('five_hour', 0.89)] })).toBe('allowed');
  expect(at({ windows: [window('seven_day_opus', null, { status: 'near' })] })).toBe('near');
  expect(at({ windows: [window('five_hour', 0.99, { resetsAt: PAST })] })).toBe('allowed');
});

it('does not take a used-up window for a refusal while Claude Code goes on', () => {
  expect(at({ windows: [window('five_hour', 1.1, { status: 'reached' })], isUsingOverage: true })).toBe('near');
});
