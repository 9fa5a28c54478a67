/** Resolves once the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Resolves after `ms`, or at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  await aborted(AbortSignal.any([over.signal, signal]));
  clearTimeout(timer);
}

/** What the promise resolves with; rejects with the signal's reason when it aborts first. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, gone]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
