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
