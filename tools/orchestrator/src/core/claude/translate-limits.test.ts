import { expect, it } from 'vitest';
import { parseFrame } from './frames.ts';
import { translate } from './translate.ts';

const notify = (line: object) => translate(parseFrame(JSON.stringify(line)));
const RESET = 1_795_486_327;
const AT = new Date(RESET * 1000).toISOString();
const WEEK = 1_795_824_727;
const WEEK_AT = new Date(WEEK * 1000).toISOString();

const event = (info: object) => ({ type: 'rate_limit_event', rate_limit_info: info, uuid: 'u', session_id: 's' });

it('reads a warning as 2.1.330 prints it', () => {
  const windows = {
    five_hour: { utilization: 0.93, resetsAt: RESET, status: 'allowed_warning', surpassedThreshold: 0.9 },
    seven_day: { utilization: 0.41, resetsAt: WEEK, status: 'allowed' },
  };
  const info = { resetsAt: RESET, rateLimitType: 'five_hour', utilization: 0.93, isUsingOverage: false };
  expect(
    notify(event({ ...info, status: 'allowed_warning', surpassedThreshold: 0.9, unifiedWindows: windows })),
  ).toEqual([
    {
      type: 'usage-limits',
      overall: { status: 'near', window: 'five_hour', resetsAt: AT, isUsingOverage: false },
      windows: [
        { name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: AT },
        { name: 'seven_day', utilization: 0.41, status: 'allowed', resetsAt: WEEK_AT },
      ],
    },
  ]);
});

it('adds the limit of one model, which is no window of its own', () => {
  const reported = notify(event({ status: 'rejected', resetsAt: RESET, rateLimitType: 'seven_day_opus' }));
  expect(reported).toMatchObject([
    {
      overall: { status: 'reached', window: 'seven_day_opus' },
      windows: [{ name: 'seven_day_opus', utilization: null, status: 'reached', resetsAt: AT }],
    },
  ]);
});

it.each([
  ['a time that is none', { resetsAt: 9e15 }],
  ['no window', {}],
  ['windows of a future version', { unifiedWindows: { five_hour: { used: 1 } } }],
])('reads a refusal with %s', (_what, more) => {
  expect(notify(event({ status: 'rejected', ...more }))).toMatchObject([
    { type: 'usage-limits', overall: { status: 'reached', window: null, resetsAt: null }, windows: [] },
  ]);
});

it('shows a status that it does not know raw', () => {
  expect(notify(event({ status: 'paused' }))).toMatchObject([{ type: 'notice', entry: { kind: 'unknown' } }]);
});

const usage = (rate_limits: unknown) => ({
  type: 'control_response',
  response: {
    subtype: 'success',
    request_id: 'u1',
    response: { session: { total_cost_usd: 1 }, rate_limits_available: rate_limits !== null, rate_limits },
  },
});

it('reads the windows of a reply to get_usage, in percent', () => {
  const limits = {
    five_hour: { utilization: 93, resets_at: '2026-11-24T02:12:07+00:00' },
    seven_day: { utilization: null, resets_at: null },
    seven_day_opus: null,
    extra_usage: { is_enabled: true, utilization: 10 },
  };
  expect(notify(usage(limits)).filter(({ type }) => type === 'usage-limits')).toEqual([
    {
      type: 'usage-limits',
      overall: null,
      windows: [{ name: 'five_hour', utilization: 0.93, status: null, resetsAt: '2026-11-24T02:12:07.000Z' }],
    },
  ]);
});

it('reads nothing of a reply without limits, as with an API key', () => {
  expect(notify(usage(null)).filter(({ type }) => type === 'usage-limits')).toEqual([]);
});

const result = { type: 'result', subtype: 'success', is_error: true, result: 'You’ve hit your 5-hour limit' };

it('tells a turn that a usage limit refused from any other failure', () => {
  const refused = { ...result, api_error_status: 429, api_error: 'usage_limit_reached', terminal_reason: 'api_error' };
  expect(notify(refused)).toMatchObject([{ type: 'turn-ended', end: { outcome: 'failed', code: 'usage-limit' } }]);
  const [other] = notify({ ...refused, api_error: 'rate_limit' });
  expect(other).not.toHaveProperty('end.code');
  const params = { rate_limit_info: { status: 'rejected', resetsAt: RESET, rateLimitType: 'five_hour' } };
  expect(notify({ ...refused, api_error_params: params })).toMatchObject([
    { end: { limit: { window: 'five_hour', resetsAt: AT } } },
  ]);
});
