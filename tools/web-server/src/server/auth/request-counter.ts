import type { FastifyRateLimitStore } from '@fastify/rate-limit';

interface Window {
  count: number;
  until: number;
}

const MAX_KEYS = 5_000;

/**
 * Counts requests per key in fixed windows of time, for the rate limit. The plugin's own store hands out the record
 * that it goes on counting in, so that of a burst within one tick every request would be refused.
 */
export class RequestCounter implements FastifyRateLimitStore {
  readonly #windows = new Map<string, Window>();

  incr(
    key: string,
    done: (error: null, result: { current: number; ttl: number }) => void,
    timeWindow: number,
    _max: number,
  ): void {
    const now = performance.now(); // a time of day that is set back would keep a window open for as long
    const found = this.#windows.get(key);
    const window = found !== undefined && found.until > now ? found : { count: 0, until: now + timeWindow };
    window.count += 1;
    if (window !== found) this.#open(key, window);
    done(null, { current: window.count, ttl: Math.ceil(window.until - now) });
  }

  child(): RequestCounter {
    return new RequestCounter();
  }

  #open(key: string, window: Window): void {
    this.#windows.delete(key); // the oldest window stays first
    this.#windows.set(key, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > MAX_KEYS && oldest !== undefined) this.#windows.delete(oldest);
  }
}
