import type { LimitStatus, LimitWindow } from '@callboard/contract';
import type { z } from 'zod';
import type { AgentEvent, LimitRefusal } from '../agent/agent-event.ts';
import { UsageLimitsReply } from './wire/control.ts';
import type { RateLimitInfo } from './wire/messages.ts';

const STATUS: Readonly<Record<z.infer<typeof RateLimitInfo>['status'], LimitStatus>> = {
  allowed: 'allowed',
  allowed_warning: 'near',
  rejected: 'reached',
};

/** What a `rate_limit_event` tells: the limit that decides, and every window that it names. */
export function limitsReported(info: z.infer<typeof RateLimitInfo>): AgentEvent {
  const status = STATUS[info.status];
  const { window, resetsAt } = refusalOf(info);
  const windows = Object.entries(info.unifiedWindows).flatMap(([name, reported]): LimitWindow[] =>
    reported === undefined
      ? []
      : [
          {
            name,
            utilization: reported.utilization,
            resetsAt: reported.resetsAt,
            status: reported.status === undefined ? null : STATUS[reported.status],
          },
        ],
  );
  // A limit of one model is named above only.
  if (window !== null && !windows.some(({ name }) => name === window))
    windows.push({ name: window, utilization: info.utilization ?? null, status, resetsAt });
  return { type: 'usage-limits', overall: { status, window, resetsAt, isUsingOverage: info.isUsingOverage }, windows };
}

/** Which limit decides, and when it resets. */
export const refusalOf = ({ rateLimitType, resetsAt }: z.infer<typeof RateLimitInfo>): LimitRefusal => ({
  window: rateLimitType ?? null,
  resetsAt: resetsAt ?? null,
});

/** Beside them stands what may be bought in addition. */
const WINDOW = /^(?:five_hour|seven_day)/;

/** The windows in a reply to `get_usage`; none without a claude.ai login. */
export function limitsInReply(response: Record<string, unknown>): AgentEvent[] {
  const parsed = UsageLimitsReply.safeParse(response);
  if (!parsed.success) return [];
  const windows = Object.entries(parsed.data.response.rate_limits).flatMap(([name, window]): LimitWindow[] =>
    window?.utilization == null || !WINDOW.test(name)
      ? []
      : [{ name, utilization: window.utilization / 100, status: null, resetsAt: window.resets_at }],
  );
  return windows.length === 0 ? [] : [{ type: 'usage-limits', overall: null, windows }];
}
