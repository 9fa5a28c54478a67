/** The limits of a back-off. */
export interface BackOffLimits {
  readonly firstMs: number;
  readonly capMs: number;
  /** After this long up, the next failure counts as the first again. */
  readonly resetMs: number;
}

/** How long to wait before a server is restarted: doubles up to a cap, and never gives up. */
export interface BackOff {
  /** The server is up. */
  up(): void;
  /** The server is down. Returns the milliseconds to wait. @param capMs the longest wait, if it is to be another one this time */
  down(capMs?: number): number;
}

/** @param now milliseconds on a monotonic clock */
export function createBackOff(limits: BackOffLimits, now: () => number): BackOff {
  let delay = limits.firstMs;
  let upSince: number | null = null;
  return {
    up: () => {
      upSince = now();
    },
    down: (capMs = limits.capMs) => {
      if (upSince !== null && now() - upSince >= limits.resetMs) delay = limits.firstMs;
      upSince = null;
      const wait = Math.min(delay, capMs);
      delay = Math.min(wait * 2, capMs);
      return wait;
    },
  };
}
