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
 * So many requests are taken from one credential in a second.
 * @param now milliseconds, on a clock that is never set back: a time of day could keep a window open
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
      throw new Rejection('too_many_requests', `More than ${perSecond} requests in a second; slow down.`);
    },
  };
}
