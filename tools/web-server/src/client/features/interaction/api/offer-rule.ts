import type { PendingRequest } from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import { stageInCache } from './use-ending-notice.ts';

/** For this long, further answers are awaited: what was allowed together is asked about once. */
const QUIET_MS = 300;
/** The most offers that are looked for at once; the next press on such a request shows the others. */
const MOST = 10;

/** The newest allowed request of each kind of call, and the timer that looks for their offers. */
const allowed = new Map<string, PendingRequest>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Looks whether people have allowed the same three times, and offers the exact rule then. Nothing is lost where that fails. */
export function offerRule(cache: QueryClient, request: PendingRequest): void {
  const { kind, toolName, input, suppressAlwaysAllow, leavesSandbox } = request;
  if (kind !== 'approval' || suppressAlwaysAllow || leavesSandbox !== null) return;
  const projectId = stageInCache(cache, request)?.projectId;
  allowed.set(JSON.stringify([projectId, toolName, input], withoutWords), request);
  clearTimeout(timer);
  timer = setTimeout(() => {
    const requests = [...allowed.values()].slice(-MOST);
    allowed.clear();
    void import('./notify-rule-offer.tsx')
      .then(({ notifyRuleOffer }) => Promise.allSettled(requests.map(notifyRuleOffer)))
      .catch(() => undefined);
  }, QUIET_MS);
}

/** What Claude says about a command is no part of it. */
const withoutWords = (name: string, value: unknown): unknown => (name === 'description' ? undefined : value);
