import type { PendingRequest } from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import { create } from 'zustand';
import { stageInCache } from './use-ending-notice.ts';

/** For this long, further answers are awaited: what was allowed together is asked about once. */
const QUIET_MS = 300;
/** The most offers that are looked for at once; the next press on such a request shows the others. */
const MAX = 10;

/** What was allowed just now. */
interface JustAllowed {
  /** The newest request of each kind of call. */
  requests: ReadonlyMap<string, PendingRequest>;
  /** Looks for their offers. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

const useJustAllowed = create<JustAllowed>(() => ({ requests: new Map(), timer: undefined }));

/** Looks whether people have allowed the same three times, and offers the exact rule then. Nothing is lost where that fails. */
export function offerRule(cache: QueryClient, request: PendingRequest): void {
  const { kind, toolName, input, suppressAlwaysAllow, leavesSandbox } = request;
  if (kind !== 'approval' || suppressAlwaysAllow || leavesSandbox !== null) return;
  const projectId = stageInCache(cache, request)?.projectId;
  const { requests, timer } = useJustAllowed.getState();
  clearTimeout(timer);
  useJustAllowed.setState({
    requests: new Map(requests).set(JSON.stringify([projectId, toolName, input], withoutText), request),
    timer: setTimeout(findOffers, QUIET_MS),
  });
}

function findOffers(): void {
  const requests = [...useJustAllowed.getState().requests.values()].slice(-MAX);
  useJustAllowed.setState({ requests: new Map(), timer: undefined });
  void import('./notify-rule-offer.tsx')
    .then(({ notifyRuleOffer }) => Promise.allSettled(requests.map(notifyRuleOffer)))
    .catch(() => undefined);
}

/** What Claude says about a command is no part of it. */
const withoutText = (name: string, value: unknown): unknown => (name === 'description' ? undefined : value);
