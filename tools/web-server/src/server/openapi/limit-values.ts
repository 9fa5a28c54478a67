import { LIMIT_DEFAULTS, type LimitsView, SessionSummary } from '@callboard/contract';
import * as the from './example-values.ts';

const limits: LimitsView = {
  limits: {
    ...{ status: 'near', window: 'five_hour', resetsAt: '2026-01-02T18:41:00.000Z', isUsingOverage: false },
    windows: [
      { name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: '2026-01-02T18:41:00.000Z' },
      { name: 'seven_day', utilization: 0.41, status: 'allowed', resetsAt: '2026-01-06T09:00:00.000Z' },
    ],
    at: '2026-01-02T16:20:00.000Z',
  },
  settings: LIMIT_DEFAULTS,
};

/** Example calls of the commands about usage limits. */
export const limitExamples = {
  get_limits: { input: {}, reply: limits },
  update_limits: {
    input: { holdStartsAt: 0.8 },
    reply: { ...limits, settings: { ...limits.settings, holdStartsAt: 0.8 } },
  },
  go_on: {
    input: { stageId: the.stage.id, when: 'at-reset' as const },
    reply: { session: SessionSummary.parse(the.session) },
  },
};
