import type { PendingRequest } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store } from '../store/store.ts';

export interface TimeLimitParts {
  store: Store;
  edges: Edges;
  log: Logger;
  expire: (request: PendingRequest) => Promise<void>;
}

/** After a store that failed. */
const TRY_AGAIN_MS = 5_000;
/** The longest that a timer of Node can wait. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Denies requests whose time is up, also those that were open before a restart. The store is the truth: the timer only
 * says when to look again.
 */
export async function startTimeLimits({ store, edges, log, expire }: TimeLimitParts): Promise<{ stop: () => void }> {
  let timer: NodeJS.Timeout | undefined;
  let nextAt = Number.POSITIVE_INFINITY;

  async function look(): Promise<void> {
    nextAt = Number.POSITIVE_INFINITY;
    for (const request of await store.read.requests.listOpen()) {
      if (request.expiresAt === null) continue;
      if (Date.parse(request.expiresAt) <= edges.now().getTime()) await expireOne(request);
      else wakeAt(request.expiresAt);
    }
  }

  async function expireOne(request: PendingRequest): Promise<void> {
    try {
      await expire(request);
    } catch (error) {
      if (error instanceof Rejection) return; // somebody answered in this very moment
      log.error({ err: error, requestId: request.requestId }, 'a request whose time is up could not be denied');
      wakeAt(new Date(edges.now().getTime() + TRY_AGAIN_MS).toISOString());
    }
  }

  function wakeAt(expiresAt: string): void {
    const at = Date.parse(expiresAt);
    if (at >= nextAt) return;
    nextAt = at;
    clearTimeout(timer);
    const inMs = Math.min(Math.max(0, at - edges.now().getTime()), MAX_TIMER_MS);
    timer = setTimeout(() => {
      look().catch((error: unknown) => log.error({ err: error }, 'looking for requests whose time is up failed'));
    }, inMs);
    timer.unref();
  }

  const unlisten = store.onEvent(({ type, data }) => {
    const asked =
      type === 'approval-requested' ||
      type === 'question-requested' ||
      type === 'plan-requested' ||
      type === 'elicitation-requested';
    if (asked && data.expiresAt !== null) wakeAt(data.expiresAt);
  });
  await look();
  return {
    stop: () => {
      unlisten();
      clearTimeout(timer);
    },
  };
}
