import { vi } from 'vitest';
import { type Edges, nodeEdges } from '../../src/lib/edges.ts';

/** Clocks that a test sets: the time of day may jump, the monotonic clock only goes forward. */
export function setClocks(start = Date.parse('2026-01-02T03:04:05.000Z')) {
  let dayMs = start;
  let uptimeMs = 1_000;
  const edges: Edges = { ...nodeEdges, now: () => new Date(dayMs), uptimeMs: () => uptimeMs };
  return {
    edges,
    /** Sets the time of day forward or back. */
    jump(ms: number) {
      dayMs += ms;
    },
    /** Lets time pass, for the timers of the test as well. */
    async pass(ms: number) {
      dayMs += ms;
      uptimeMs += ms;
      await vi.advanceTimersByTimeAsync(ms);
    },
  };
}
