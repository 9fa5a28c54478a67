import { ApiError } from './api.ts';

/** Nothing was done, or nobody knows whether it was. */
const UNDELIVERED: readonly string[] = ['network', 'orchestrator_unreachable', 'starting'];
const DELAYS_MS = [200, 400, 800, 1_600];
/** For as long as this it is tried. */
export const PATIENCE_MS = 30_000;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * Sends again for as long as the server cannot be reached, at most half a minute: what was pressed while Callboard
 * restarts need not be pressed twice. Only for what does no harm when it arrives twice; `attempt` counts from 1.
 */
export async function untilDelivered<T>(send: (attempt: number) => Promise<T>, wait = sleep): Promise<T> {
  let waited = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(attempt);
    } catch (error) {
      const isUndelivered = error instanceof ApiError && UNDELIVERED.includes(error.code);
      if (!isUndelivered || waited >= PATIENCE_MS) throw error;
    }
    const delay = DELAYS_MS[Math.min(attempt, DELAYS_MS.length) - 1] ?? 0;
    waited += delay;
    await wait(delay);
  }
}
