import { isRequestEvent, type PendingRequest } from '@callboard/contract';
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
 * says when to look again. Waiting goes by the clock that nobody sets: a request is not denied because the time of day
 * jumped. How long one had waited before a restart is only known by the time of day.
 */
export async function startTimeLimits({ store, edges, log, expire }: TimeLimitParts): Promise<{ stop: () => void }> {
  /** By stage and request: when its time is up, in `uptimeMs`. */
  const deadlines = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function look(): Promise<void> {
    const open = new Map((await store.read.requests.listOpen()).map((request) => [keyOf(request), request]));
    for (const [key, deadline] of deadlines) {
      if (deadline > edges.uptimeMs()) continue;
      const request = open.get(key);
      if (request === undefined) deadlines.delete(key);
      else await expireOne(request);
    }
    wait();
  }

  async function expireOne(request: PendingRequest): Promise<void> {
    deadlines.delete(keyOf(request));
    try {
      await expire(request);
    } catch (error) {
      if (error instanceof Rejection) return; // somebody answered in this very moment
      log.error({ err: error, requestId: request.requestId }, 'a request whose time is up could not be denied');
      deadlines.set(keyOf(request), edges.uptimeMs() + TRY_AGAIN_MS);
    }
  }

  function wait(): void {
    clearTimeout(timer);
    if (stopped || deadlines.size === 0) return;
    const inMs = Math.max(0, Math.min(...deadlines.values()) - edges.uptimeMs());
    timer = setTimeout(
      () => {
        look().catch((error: unknown) => {
          log.error({ err: error }, 'looking for requests whose time is up failed');
          if (!stopped) timer = setTimeout(wait, TRY_AGAIN_MS).unref();
        });
      },
      Math.min(inMs, MAX_TIMER_MS),
    ).unref();
  }

  function add(request: PendingRequest, waitedMs: number): void {
    if (request.expiresAt === null) return;
    const limitMs = Date.parse(request.expiresAt) - Date.parse(request.createdAt);
    const leftMs = Math.min(Math.max(0, limitMs - waitedMs), limitMs);
    deadlines.set(keyOf(request), edges.uptimeMs() + leftMs);
  }

  const unlisten = store.onEvent((event) => {
    if (isRequestEvent(event)) {
      add(event.data, 0);
      wait();
    } else if (event.type === 'approval-resolved') deadlines.delete(keyOf(event.data));
  });
  for (const request of await store.read.requests.listOpen()) {
    add(request, edges.now().getTime() - Date.parse(request.createdAt));
  }
  wait();
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
