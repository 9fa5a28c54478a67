import { type LimitsView, limitState } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import type { Store } from '../store/store.ts';
import type { StageGate, StartGate } from './start-gates.ts';

export interface LimitGateDeps {
  platform: Pick<Platform, 'now'>;
  store: Pick<Store, 'read'>;
}

/**
 * Holds automatic starts while a usage limit of the account is near, so that what is begun can finish, and while one is reached. A
 * stage that waited for a reset goes on unless another limit is known to be reached; any other that was begun, unless one is reached.
 */
export const createLimitGate =
  ({ platform, store }: LimitGateDeps): StartGate =>
  async () =>
    limitGate(await store.read.limits.view(), platform.now().toISOString());

/** The gate of one pass. */
export function limitGate({ limits, settings }: LimitsView, now: string): StageGate {
  const { holdStartsAt } = settings;
  const { state, utilization, resetsAt } = limitState(limits, holdStartsAt ?? Number.POSITIVE_INFINITY, now);
  const isNear = state === 'near' && holdStartsAt !== null;
  if (state !== 'reached' && !isNear) return () => null;
  const share = utilization === null ? 'near' : `at ${Math.round(utilization * 100)} %`;
  const reason = state === 'reached' ? 'Usage limit reached' : `Usage limit ${share}`;
  const pause = { code: 'usage-limit', reason, until: resetsAt } as const;
  return ({ session }) => {
    if (session === null) return pause;
    // Its own limit it has waited for, by a clock that nobody sets (`wait-clock.ts`).
    const hasWaited = session.limitWait?.goesOnAt != null;
    const isOther = !hasWaited || (resetsAt !== null && resetsAt !== session.limitWait?.resetsAt);
    return state === 'reached' && isOther ? pause : null;
  };
}
