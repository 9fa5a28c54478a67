import { Rejection } from '../errors.ts';

interface Window {
  count: number;
  until: number;
}

const WINDOW_MS = 1_000;
const MAX_KEYS = 5_000;

/**
 * Counts what comes within a second, for each key.
 * @param now milliseconds of a monotonic clock: the time of day could be set back and keep a window open
 * @returns a function that counts one more and returns how many there were
 */
function createWindows(now: () => number): (key: string) => number {
  const windows = new Map<string, Window>();

  function open(key: string): Window {
    const window = { count: 0, until: now() + WINDOW_MS };
    windows.delete(key); // the oldest window stays first
    windows.set(key, window);
    const [oldest] = windows.keys();
    if (windows.size > MAX_KEYS && oldest !== undefined) windows.delete(oldest);
    return window;
  }

  return (key) => {
    const found = windows.get(key);
    const window = found !== undefined && found.until > now() ? found : open(key);
    window.count += 1;
    return window.count;
  };
}

export interface RequestLimit {
  /** Counts a request of this credential, or login from this address. @throws Rejection `too_many_requests` */
  count(key: string): void;
}

/** Limits the requests per second of each key. */
export function createRequestLimit(perSecond: number, now: () => number): RequestLimit {
  const counted = createWindows(now);
  return {
    count(key) {
      if (counted(key) <= perSecond) return;
      throw new Rejection('too_many_requests', `More than ${perSecond} requests in a second. Slow down.`);
    },
  };
}

export interface GuessLimit {
  /** Whether the orchestrator has accepted this token before. */
  isKnown(key: string): boolean;
  /** Counts a check of an unknown token that this client sent. @throws Rejection `too_many_requests` */
  count(client: string): void;
  remember(key: string): void;
}

const MAX_SAVED = 1_000;

/** Limits the checks of unknown API tokens per second and client; tokens that were accepted before are not delayed by guesses. */
export function createGuessLimit(guessesPerSecond: number, now: () => number): GuessLimit {
  const known = new Set<string>();
  const counted = createWindows(now);
  return {
    isKnown: (key) => known.has(key),
    count(client) {
      if (counted(client) <= guessesPerSecond) return;
      throw new Rejection('too_many_requests', 'Too many unknown API tokens are being tried. Wait a moment.');
    },
    remember(key) {
      known.add(key);
      const [oldest] = known;
      if (known.size > MAX_SAVED && oldest !== undefined) known.delete(oldest);
    },
  };
}
