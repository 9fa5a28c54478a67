import { IDEMPOTENCY_AGE_HEADER, IDEMPOTENCY_KEY_HEADER } from '../http.ts';
import { TransportError, type TransportErrorCode } from './transport.ts';

/** Nothing was done. */
const NOT_DONE: readonly TransportErrorCode[] = ['orchestrator_unreachable', 'starting'];
const LOST: readonly TransportErrorCode[] = ['network', 'reply_lost'];

/** Whether the reply to a request was lost, so that nobody knows whether it was done: also if a proxy says so. */
export const isLost = (error: unknown): error is TransportError =>
  error instanceof TransportError &&
  (LOST.includes(error.code) || (error.code === 'unreadable' && error.status >= 500));

const DELAYS_MS = [200, 400, 800, 1_600];

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** One of several attempts to send the same. */
export interface Attempt {
  /** From 1. */
  nth: number;
  /** Aborts at the end of its time. */
  signal: AbortSignal;
  /** The milliseconds since the first attempt whose outcome is not known; null if all before certainly did nothing. */
  unknownForMs: number | null;
}

export interface Resending {
  /** How long it is sent again. */
  patienceMs: number;
  /** How long one attempt may take: a server that hangs keeps its connections open and never answers. */
  attemptMs: number;
  /** How much of the time of such attempts does not count: a command that takes its time is executed on, whoever waits for it. */
  heldMs?: number | undefined;
  wait?: ((ms: number) => Promise<void>) | undefined;
  /** The error for an attempt without an answer, and in the end for all of them, if one of them may have been executed. */
  unanswered: () => TransportError;
}

/**
 * Sends, and sends again while the server does not answer. Use it only for requests that may safely arrive twice.
 * @throws the error of the last attempt, which does not say that nothing was done unless that holds for all; a refusal at once
 */
export async function resend<T>(
  send: (attempt: Attempt) => Promise<T>,
  { patienceMs, attemptMs, heldMs = 0, wait = sleep, unanswered }: Resending,
): Promise<T> {
  let waited = 0;
  let held = 0;
  let unknownSince: number | null = null;
  for (let nth = 1; ; nth += 1) {
    const begun = performance.now();
    const unknownForMs = unknownSince === null ? null : begun - unknownSince;
    try {
      return await within(attemptMs, unanswered, (signal) => send({ nth, signal, unknownForMs }));
    } catch (error) {
      const isNotDone = error instanceof TransportError && NOT_DONE.includes(error.code);
      if (!isNotDone && !isLost(error)) throw error;
      if (!isNotDone) unknownSince ??= begun;
      const took = performance.now() - begun;
      if (took >= attemptMs) held += took;
      else waited += took;
      if (waited + Math.max(0, held - heldMs) >= patienceMs)
        throw isNotDone && unknownSince !== null ? unanswered() : error;
    }
    const delay = DELAYS_MS[Math.min(nth, DELAYS_MS.length) - 1] ?? 0;
    waited += delay;
    await wait(delay);
  }
}

async function within<T>(
  ms: number,
  unanswered: () => TransportError,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
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

/** The headers under which a request that is sent again is the same request. */
export const idempotencyHeaders = (key: string, { unknownForMs }: Attempt): Record<string, string> => ({
  [IDEMPOTENCY_KEY_HEADER]: key,
  ...(unknownForMs !== null && { [IDEMPOTENCY_AGE_HEADER]: String(Math.ceil(unknownForMs)) }),
});
