import { isRequestEvent, type PendingRequest } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store } from '../store/store.ts';

export interface TimeLimitDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  expire: (request: PendingRequest) => Promise<void>;
}

/** The delay before a retry after the store fails. */
const RETRY_MS = 5_000;
/** The longest delay of a Node timer. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Denies requests that reach their time limit, including those that were open before a restart. The store is authoritative; the
 * timer only says when to check again. The wait is measured with the monotonic clock, so a jump of the wall clock denies nothing.
 * The wait before a restart can only be computed from the wall clock.
 */
export async function startTimeLimits({ store, platform, log, expire }: TimeLimitDeps): Promise<{ stop: () => void }> {
  /** When each request expires, in `uptimeMs`, by stage and request. */
  const deadlines = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function checkDeadlines(): Promise<void> {
    const open = new Map((await store.read.requests.listOpen()).map((request) => [keyOf(request), request]));
    for (const [key, deadline] of deadlines) {
      if (deadline > platform.uptimeMs()) continue;
      const request = open.get(key);
      if (request === undefined) deadlines.delete(key);
      else await expireOne(request);
    }
    schedule();
  }

  async function expireOne(request: PendingRequest): Promise<void> {
    deadlines.delete(keyOf(request));
    try {
      await expire(request);
    } catch (error) {
      const isHeld = error instanceof Rejection && error.code === 'answer_held'; // it may still be taken back
      if (error instanceof Rejection && !isHeld) return; // somebody answered first
      if (!isHeld) log.error({ err: error, requestId: request.requestId }, 'denying an expired request failed');
      deadlines.set(keyOf(request), platform.uptimeMs() + RETRY_MS);
    }
  }

  function schedule(): void {
    clearTimeout(timer);
    if (stopped || deadlines.size === 0) return;
    const inMs = Math.max(0, Math.min(...deadlines.values()) - platform.uptimeMs());
    timer = setTimeout(
      () => {
        checkDeadlines().catch((error: unknown) => {
          log.error({ err: error }, 'looking for expired requests failed');
          if (!stopped) timer = setTimeout(schedule, RETRY_MS).unref();
        });
      },
      Math.min(inMs, MAX_TIMER_MS),
    ).unref();
  }

  function add(request: PendingRequest, waitedMs: number): void {
    if (request.expiresAt === null) return;
    const limitMs = Date.parse(request.expiresAt) - Date.parse(request.createdAt);
    const leftMs = Math.min(Math.max(0, limitMs - waitedMs), limitMs);
    deadlines.set(keyOf(request), platform.uptimeMs() + leftMs);
  }

  const unlisten = store.onEvent((event) => {
    if (isRequestEvent(event)) {
      add(event.data, 0);
      schedule();
    } else if (event.type === 'approval-resolved') deadlines.delete(keyOf(event.data));
  });
  for (const request of await store.read.requests.listOpen()) {
    add(request, platform.now().getTime() - Date.parse(request.createdAt));
  }
  schedule();
  return {
    stop: () => {
      stopped = true;
      unlisten();
      clearTimeout(timer);
    },
  };
}

const keyOf = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>): string =>
  `${stageId}/${requestId}`;
