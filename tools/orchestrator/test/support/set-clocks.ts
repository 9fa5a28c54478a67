import { vi } from 'vitest';
import { nodePlatform, type Platform } from '../../src/platform/runtime.ts';

/** Clocks that a test sets: the time of day may jump, the monotonic clock only goes forward. */
export function setClocks(start = Date.parse('2026-01-02T03:04:05.000Z')) {
  let dayMs = start;
  let uptimeMs = 1_000;
  const timers = new Set<{ at: number; due: () => void }>();
  const platform: Platform = { ...nodePlatform, now: () => new Date(dayMs), uptimeMs: () => uptimeMs };
  return {
    platform,
    /** A timer that runs by these clocks alone, for a part that takes its own: the store's need the true time. */
    timer(due: () => void, inMs: number): () => void {
      const one = { at: uptimeMs + inMs, due };
      timers.add(one);
      return () => void timers.delete(one);
    },
    /** How many of those wait. */
    timers: () => timers.size,
    /** Sets the time of day forward or back. */
    jump(ms: number) {
      dayMs += ms;
    },
    /** Lets time pass, for the timers of the test as well. */
    async pass(ms: number) {
      dayMs += ms;
      uptimeMs += ms;
      for (const one of timers)
        if (one.at <= uptimeMs) {
          timers.delete(one);
          one.due();
        }
      if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(ms);
    },
  };
}
