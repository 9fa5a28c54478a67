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
  /** The server is down. Returns the milliseconds to wait. */
  down(): number;
}

/** @param now milliseconds on a monotonic clock */
export function createBackOff(limits: BackOffLimits, now: () => number): BackOff {
  let delay = limits.firstMs;
  let upSince: number | null = null;
  return {
    up: () => {
      upSince = now();
    },
    down: () => {
      if (upSince !== null && now() - upSince >= limits.resetMs) delay = limits.firstMs;
      upSince = null;
      const wait = delay;
      delay = Math.min(delay * 2, limits.capMs);
      return wait;
    },
  };
}
