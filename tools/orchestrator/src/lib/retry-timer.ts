/**
 * Has things tried again that could not be done, at growing intervals. Attempts that are made for other reasons in between do not
 * make them grow: else a busy hour would put off the next one until long after it.
 */
export interface RetryTimer<T> {
  /** Call it after each attempt. @param left what could not be done; something new in it begins with the first interval again */
  attempted(left: ReadonlySet<T>): void;
  stop(): void;
}

/** @param retry makes an attempt, after which `attempted` is called */
export function createRetryTimer<T>(
  retry: () => void,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): RetryTimer<T> {
  let before: ReadonlySet<T> = new Set();
  let pauseMs = firstMs;
  let timer: NodeJS.Timeout | undefined;
  let isRetry = false;
  return {
    attempted(left) {
      clearTimeout(timer);
      if (!left.isSubsetOf(before)) pauseMs = firstMs;
      else if (isRetry) pauseMs = Math.min(2 * pauseMs, maxMs);
      before = left;
      isRetry = false;
      if (left.size === 0) return;
      timer = setTimeout(() => {
        isRetry = true;
        retry();
      }, pauseMs).unref();
    },
    stop: () => clearTimeout(timer),
  };
}
