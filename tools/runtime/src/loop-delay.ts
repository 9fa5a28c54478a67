import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How late the event loop reached its timers. */
interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** The parts used of a `node:perf_hooks` histogram, in nanoseconds. */
interface Histogram {
  readonly count: number;
  readonly max: number;
  percentile(percentile: number): number;
  enable(): boolean;
  disable(): boolean;
  reset(): void;
}

/** Measures the delay of an event loop over a moving window. */
export interface LoopDelayWindow {
  read(): LoopDelay;
  /** Drops the older half of the window. */
  roll(): void;
  stop(): void;
}

const ROLL_MS = 30_000;
/** Each sample wakes an idle process, which costs about 60 microseconds: ten a second are negligible. */
const RESOLUTION_MS = 100;

/** Watches the event loop of this process. `read` covers the last 30 to 60 seconds. */
export function watchLoopDelay(): Omit<LoopDelayWindow, 'roll'> {
  const delays = createLoopDelayWindow(monitorEventLoopDelay);
  const rolling = setInterval(delays.roll, ROLL_MS).unref();
  return {
    read: delays.read,
    stop() {
      clearInterval(rolling);
      delays.stop();
    },
  };
}

/**
 * Uses two histograms and empties them in turn, so a reading is recent and never covers only an instant.
 * @param monitor `monitorEventLoopDelay` of `node:perf_hooks`
 */
export function createLoopDelayWindow(monitor: (options: { resolution: number }) => Histogram): LoopDelayWindow {
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

/** The histograms hold the time between two samples, which equals the resolution when nothing is late. */
function delayMs({ count }: Histogram, nanoseconds: number): number {
  if (count === 0) return 0; // the figures of an empty histogram are meaningless
  return Math.max(0, Math.round(nanoseconds / 1_000 - RESOLUTION_MS * 1_000) / 1_000);
}
