import { TransportError } from '@callboard/contract/client';
import { unanswered } from './api-client.ts';

/** Nothing was done, or nobody knows whether it was. */
const UNDELIVERED: readonly string[] = ['network', 'orchestrator_unreachable', 'starting'];
const DELAYS_MS = [200, 400, 800, 1_600];
/** For as long as this it is tried. */
export const PATIENCE_MS = 30_000;
/** For a small thing; a server that hangs keeps its connections open and says nothing. */
const ATTEMPT_MS = 10_000;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Delivering {
  wait?: (ms: number) => Promise<void>;
  /** How long one attempt may take. */
  attemptMs?: number;
}

/**
 * Sends again for as long as the server cannot be reached or says nothing, about half a minute: what was pressed while
 * Callboard restarts need not be pressed twice. Only for what does no harm when it arrives twice; `attempt` counts from 1.
 *
 * @param send gives up when its signal aborts
 */
export async function untilDelivered<T>(
  send: (attempt: number, signal: AbortSignal) => Promise<T>,
  { wait = sleep, attemptMs = ATTEMPT_MS }: Delivering = {},
): Promise<T> {
  let waited = 0;
  for (let attempt = 1; ; attempt += 1) {
    const begun = performance.now();
    try {
      return await within(attemptMs, (signal) => send(attempt, signal));
    } catch (error) {
      const isUndelivered = error instanceof TransportError && UNDELIVERED.includes(error.code);
      waited += performance.now() - begun;
      if (!isUndelivered || waited >= PATIENCE_MS) throw error;
    }
    const delay = DELAYS_MS[Math.min(attempt, DELAYS_MS.length) - 1] ?? 0;
    waited += delay;
    await wait(delay);
  }
}

async function within<T>(ms: number, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), ms);
  try {
    return await send(giveUp.signal);
  } catch (error) {
    throw giveUp.signal.aborted && !(error instanceof TransportError) ? unanswered() : error;
  } finally {
    clearTimeout(timer);
  }
}
