/** Waits that end early, and how long to wait. They run on any platform: the browser uses them too. */

/** Resolves when the signal aborts, at once if it already has. Never rejects. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Settles as `promise` does, unless the signal aborts first or already has: then it rejects with the signal's reason.
 * The work behind `promise` goes on.
 */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves after `ms`, or as soon as the signal aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  await untilAborted(AbortSignal.any([over.signal, signal]));
  clearTimeout(timer);
}

/** The delays before the next attempts: each twice as long as the one before, up to a limit. */
export interface Backoff {
  /** Returns the next delay, in milliseconds. @param maxMs another limit for this one and the next */
  next(maxMs?: number): number;
  /** Waits for the next delay, or until the signal aborts. Never rejects. */
  wait(signal: AbortSignal): Promise<void>;
  /** An attempt has succeeded: the next delay is the first again. */
  reset(): void;
}

export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

export function createBackoff({ firstMs, maxMs }: BackoffLimits): Backoff {
  let delayMs = firstMs;
  function next(limitMs = maxMs): number {
    const nextMs = Math.min(delayMs, limitMs);
    delayMs = Math.min(nextMs * 2, limitMs);
    return nextMs;
  }
  return {
    next,
    wait: (signal) => pause(next(), signal),
    reset: () => {
      delayMs = firstMs;
    },
  };
}
