import { LIMIT_DEFAULTS, type LimitsView } from '@callboard/contract';

/** The usage limits in the examples. */
export const limits: LimitsView = {
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
