import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';

/** How late an event loop is, as `watchLoopDelay` tells it. */
interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/**
 * Adds the figures of this process to a registry: event loop delay, memory, CPU and start. They are read when the registry
 * is, and cost nothing otherwise.
 * @param part the name of the process within the names of the metrics
 */
export function addProcessMetrics(
  part: 'orchestrator' | 'web_server',
  loopDelay: () => LoopDelay,
  registry: Registry,
): void {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `callboard_${part}_${name}`, help, registers });
  new Gauge({
    ...named('event_loop_delay_seconds', 'How late the event loop reached its timers in the last 30 to 60 seconds.'),
    labelNames: ['stat'],
    collect() {
      const { p50Ms, p99Ms, maxMs } = loopDelay();
      this.set({ stat: 'p50' }, p50Ms / 1_000);
      this.set({ stat: 'p99' }, p99Ms / 1_000);
      this.set({ stat: 'max' }, maxMs / 1_000);
    },
  });
  new Gauge({
    ...named('resident_memory_bytes', 'Memory of the process.'),
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  const cpu = new Counter({
    ...named('cpu_seconds_total', 'CPU time of the process since its start.'),
    collect() {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1e6);
    },
  });
  new Gauge(named('start_time_seconds', 'When the process started, in Unix time.')).set(
    Math.round(Date.now() / 1_000 - process.uptime()),
  );
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
