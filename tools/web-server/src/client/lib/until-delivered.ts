import { TransportError } from '@callboard/contract/client';
import { unanswered } from './api-client.ts';

/** Problem codes that mean: nothing was done, or nobody knows. */
const UNDELIVERED: readonly string[] = ['network', 'orchestrator_unreachable', 'starting'];
const DELAYS_MS = [200, 400, 800, 1_600];
/** How long delivery is retried. */
export const PATIENCE_MS = 30_000;
/** How long one attempt may take: a server that hangs keeps its connections open and never answers. */
const ATTEMPT_MS = 10_000;
/** How long an attempt that carries files may take: enough for large ones on a slow connection. */
export const UPLOAD_MS = 120_000;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Delivering {
  wait?: (ms: number) => Promise<void>;
  /** How long one attempt may take. */
  attemptMs?: number;
}

/**
 * Sends, and resends for about half a minute while the server does not answer, so that nobody has to click again while
 * Callboard restarts. Use it only for requests that may safely arrive twice.
 *
 * @param send makes attempt number `attempt`, counted from 1, and stops when its signal aborts
 * @throws the last error, if delivery fails for half a minute, or at once if the server refuses
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
