import type { EventEmitter } from 'node:events';

/** The signals that stop a long-running command. */
export interface StopSignals {
  /** Aborts on the first Ctrl-C (or SIGTERM, SIGHUP, or the end of the launcher): stop in order. */
  readonly stop: AbortSignal;
  /** Aborts on the second one: end at once. */
  readonly kill: AbortSignal;
  /** Stops listening: the signals have their default effect again. */
  release(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * One press of Ctrl-C arrives several times: from the terminal, which signals all its processes, and from npm and the
 * launcher, which pass it on. A signal this soon after the first belongs to the same press.
 */
const SAME_PRESS_MS = 500;

/**
 * Listens for signals to a process.
 * @param now milliseconds on a monotonic clock
 */
export function listenForStop(source: EventEmitter, now: () => number): StopSignals {
  const stop = new AbortController();
  const kill = new AbortController();
  let firstAt: number | null = null;
  const onSignal = () => {
    if (firstAt === null) {
      firstAt = now();
      stop.abort();
    } else if (now() - firstAt >= SAME_PRESS_MS) kill.abort();
  };
  const onDisconnect = () => {
    if (firstAt === null) onSignal();
  };
  for (const signal of SIGNALS) source.on(signal, onSignal);
  source.on('disconnect', onDisconnect);
  return {
    stop: stop.signal,
    kill: kill.signal,
    release: () => {
      for (const signal of SIGNALS) source.removeListener(signal, onSignal);
      source.removeListener('disconnect', onDisconnect);
    },
  };
}
