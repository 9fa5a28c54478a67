import { LIMIT_DEFAULTS, type LimitsView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { session } from '../test/samples.ts';
import { clockTime } from './format.ts';
import { comingTime, limitLine, limitWaitText } from './limit-text.ts';

const NOW = new Date(2026, 0, 1, 12);
const LATER = new Date(2026, 0, 1, 18, 41).toISOString();
const NEXT_DAY = new Date(2026, 0, 2, 9, 30).toISOString();

const view = (change: Partial<NonNullable<LimitsView['limits']>>, settings = LIMIT_DEFAULTS): LimitsView => ({
  limits: {
    status: 'allowed',
    window: 'five_hour',
    resetsAt: LATER,
    isUsingOverage: false,
    at: NOW.toISOString(),
    windows: [{ name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: LATER }],
    ...change,
  },
  settings,
});

it('names the day of a time that is not today', () => {
  expect(comingTime(LATER, NOW)).toBe('18:41');
  expect(comingTime(NEXT_DAY, NOW)).toBe(`Fri ${clockTime(NEXT_DAY)}`);
});

it('says nothing without limits, and while none is near', () => {
  expect(limitLine({ limits: null, settings: LIMIT_DEFAULTS }, NOW)).toBeNull();
  expect(limitLine(view({ windows: [] }), NOW)).toBeNull();
  expect(limitLine(view({}), new Date(2026, 0, 1, 19))).toBeNull();
});

it('says how near a limit is, when it resets, and whether starts wait', () => {
  expect(limitLine(view({}), NOW)).toEqual({
    text: '5-hour limit at 93 %, resets 18:41. Automatic starts wait.',
    short: 'Usage limit at 93 %',
  });
  expect(limitLine(view({}, { ...LIMIT_DEFAULTS, holdStartsAt: null }), NOW)?.text).toBe(
    '5-hour limit at 93 %, resets 18:41.',
  );
  expect(limitLine(view({}, { ...LIMIT_DEFAULTS, holdStartsAt: 0.95 }), NOW)).toBeNull();
});

it('says until when a limit is reached', () => {
  const reached = view({ status: 'reached', window: 'seven_day', resetsAt: NEXT_DAY });
  expect(limitLine(reached, NOW)).toEqual({
    text: `Weekly limit reached, resets Fri ${clockTime(NEXT_DAY)}.`,
    short: `Usage limit until Fri ${clockTime(NEXT_DAY)}`,
  });
  expect(limitLine(view({ status: 'reached', window: 'new_one', resetsAt: null }), NOW)?.text).toBe(
    'Usage limit reached.',
  );
});

it('says how a stage goes on', () => {
  const ahead = new Date(Date.now() + 60_000).toISOString();
  const text = (resetsAt: string | null, goesOnAt: string | null, completedAt: string | null = null) =>
    limitWaitText({
      session: session('STAGE-1', { limitWait: { since: LATER, window: null, resetsAt, goesOnAt } }),
      completedAt,
    });
  expect(text(ahead, ahead)).toBe(`Usage limit: continues at ${comingTime(ahead)}`);
  expect(text(NOW.toISOString(), NOW.toISOString())).toBe('Usage limit has reset: continues when a slot is free');
  expect(text(ahead, null)).toBe(`Usage limit until ${comingTime(ahead)}`);
  expect(text(NOW.toISOString(), null)).toBe('Usage limit has reset');
  expect(text(null, null)).toBe('Usage limit reached');
  expect(text(ahead, ahead, LATER)).toBeNull();
  expect(limitWaitText({ session: session('STAGE-1'), completedAt: null })).toBeNull();
});
