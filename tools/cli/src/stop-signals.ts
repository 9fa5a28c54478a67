import type { EventEmitter } from 'node:events';

/** How a person stops a command that runs until it is told to end. */
export interface StopSignals {
  /** The first Ctrl-C (or SIGTERM, SIGHUP, or the end of the launcher): end in good order. */
  readonly stop: AbortSignal;
  /** The second one: end at once. */
  readonly kill: AbortSignal;
  /** Gives the signals back to the system. */
  release(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * One press of Ctrl-C comes more than once: from the terminal, which signals all its processes, and from npm and the
 * launcher, which pass it on. What comes this soon after the first is the same press.
 */
const SAME_PRESS_MS = 500;

/** Listens on a process. @param now milliseconds, on a clock that is never set back. */
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
