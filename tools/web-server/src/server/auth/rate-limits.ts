import { Rejection } from '../errors.ts';

export interface RequestLimit {
  /** Counts a request of this credential. @throws Rejection `too_many_requests` */
  count(key: string): void;
}

interface Window {
  count: number;
  until: number;
}

const WINDOW_MS = 1_000;
const MAX_KEYS = 5_000;

/**
 * Limits the requests per second of each credential.
 * @param now milliseconds of a monotonic clock: the time of day could be set back and keep a window open
 */
export function createRequestLimit(perSecond: number, now: () => number): RequestLimit {
  const windows = new Map<string, Window>();

  function open(key: string): Window {
    const window = { count: 0, until: now() + WINDOW_MS };
    windows.delete(key); // the oldest window stays first
    windows.set(key, window);
    const [oldest] = windows.keys();
    if (windows.size > MAX_KEYS && oldest !== undefined) windows.delete(oldest);
    return window;
  }

  return {
    count(key) {
      const found = windows.get(key);
      const window = found !== undefined && found.until > now() ? found : open(key);
      window.count += 1;
      if (window.count <= perSecond) return;
      throw new Rejection('too_many_requests', `More than ${perSecond} requests in a second. Slow down.`);
    },
  };
}

export interface GuessLimit {
  /** Whether the orchestrator has accepted this token before. */
  isKnown(key: string): boolean;
  /** Counts a check of an unknown token. @throws Rejection `too_many_requests` */
  count(): void;
  remember(key: string): void;
}

const MAX_KEPT = 1_000;

/** Limits the checks of unknown API tokens per second; tokens that were accepted before are not delayed by guesses. */
export function createGuessLimit(guessesPerSecond: number, now: () => number): GuessLimit {
  const known = new Set<string>();
  let guesses = { count: 0, until: 0 };
  return {
    isKnown: (key) => known.has(key),
    count() {
      if (guesses.until <= now()) guesses = { count: 0, until: now() + 1_000 };
      guesses.count += 1;
      if (guesses.count <= guessesPerSecond) return;
      throw new Rejection('too_many_requests', 'Too many unknown API tokens are being tried. Wait a moment.');
    },
    remember(key) {
      known.add(key);
      const [oldest] = known;
      if (known.size > MAX_KEPT && oldest !== undefined) known.delete(oldest);
    },
  };
}
