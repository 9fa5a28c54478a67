import { Budget, LIMIT_DEFAULTS, type LimitsView, SessionSummary } from '@callboard/contract';
import * as the from './example-values.ts';

const limits: LimitsView = {
  limits: {
    status: 'near',
    window: 'five_hour',
    resetsAt: '2026-01-02T18:41:00.000Z',
    isUsingOverage: false,
    windows: [
      { name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: '2026-01-02T18:41:00.000Z' },
      { name: 'seven_day', utilization: 0.41, status: 'allowed', resetsAt: '2026-01-06T09:00:00.000Z' },
    ],
    at: '2026-01-02T16:20:00.000Z',
  },
  settings: LIMIT_DEFAULTS,
};

const budget = Budget.parse({
  scope: { projectId: the.project.id },
  usd: 20,
  tokens: null,
  spent: { usd: 4.2, tokens: 310_000 },
});

/** Example calls of the commands about usage limits and budgets. */
export const limitExamples = {
  get_limits: { input: {}, reply: limits },
  update_limits: {
    input: { holdStartsAt: 0.8 },
    reply: { ...limits, settings: { ...limits.settings, holdStartsAt: 0.8 } },
  },
  get_budgets: { input: {}, reply: { budgets: [budget] } },
  put_budget: { input: { scope: budget.scope, usd: 20 }, reply: { budgets: [budget] } },
  continue_beyond_budget: { input: { stageId: the.stage.id }, reply: { session: SessionSummary.parse(the.session) } },
  go_on: {
    input: { stageId: the.stage.id, when: 'at-reset' as const },
    reply: { session: SessionSummary.parse(the.session) },
  },
};
