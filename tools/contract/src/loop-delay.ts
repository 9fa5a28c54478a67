import { z } from 'zod';

/** How late the event loop of a process came to its timers in the last half to whole minute. */
export const LoopDelay = z.object({ p50Ms: z.number(), p99Ms: z.number(), maxMs: z.number() });
export type LoopDelay = z.infer<typeof LoopDelay>;

/** What is needed of a histogram of `node:perf_hooks`, in nanoseconds. */
interface Histogram {
  readonly count: number;
  readonly max: number;
  percentile(percentile: number): number;
  enable(): boolean;
  disable(): boolean;
  reset(): void;
}

export interface LoopDelayWindow {
  read(): LoopDelay;
  /** Forgets the older half of the window: to be called every `LOOP_DELAY_ROLL_MS`. */
  roll(): void;
  stop(): void;
}

export const LOOP_DELAY_ROLL_MS = 30_000;
/** Each sample wakes a process that has nothing to do, which costs it some 60 microseconds: ten a second are not felt. */
const RESOLUTION_MS = 100;

/**
 * Watches the event loop of this process. Two histograms are emptied in turn, so that what is read tells of the present and never of
 * a moment alone.
 * @param monitor `monitorEventLoopDelay` of `node:perf_hooks`, which browsers do not have
 */
export function watchLoopDelay(monitor: (options: { resolution: number }) => Histogram): LoopDelayWindow {
  let [older, newer] = [monitor({ resolution: RESOLUTION_MS }), monitor({ resolution: RESOLUTION_MS })];
  for (const histogram of [older, newer]) histogram.enable();
  return {
    read: () => ({
      p50Ms: delayMs(older, older.percentile(50)),
      p99Ms: delayMs(older, older.percentile(99)),
      maxMs: delayMs(older, older.max),
    }),
    roll() {
      older.reset();
      [older, newer] = [newer, older];
    },
    stop() {
      for (const histogram of [older, newer]) histogram.disable();
    },
  };
}

/** The histograms hold the time from one sample to the next, which is the resolution where nothing is late. */
function delayMs({ count }: Histogram, nanoseconds: number): number {
  if (count === 0) return 0; // an empty histogram has figures that mean nothing
  return Math.max(0, Math.round(nanoseconds / 1_000 - RESOLUTION_MS * 1_000) / 1_000);
}
