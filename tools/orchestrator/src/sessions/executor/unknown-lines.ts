import type { AgentEvent } from '../../agent/agent-event.ts';

/** How long it must be silent after a line that is not understood before the process is asked. */
const PAUSE_MS = 2_000;
/** In one turn: a process that prints such lines all the time, in its replies too, is not asked for ever. */
const MOST_ASKS = 3;

/** Watches for a turn that may have ended in words that are not understood. */
export interface UnknownLines {
  took(events: readonly AgentEvent[]): void;
  stop(): void;
}

/** @param ask finds out what the process does; called when it is silent behind a line that was not understood */
export function watchUnknownLines(ask: () => void): UnknownLines {
  let timer: NodeJS.Timeout | undefined;
  let asks = 0;
  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  return {
    stop,
    took(events) {
      const isDue = timer !== undefined;
      stop();
      if (events.some(({ type }) => type === 'turn-ended')) asks = 0;
      else if ((isDue || events.some(isUnknown)) && asks < MOST_ASKS) {
        timer = setTimeout(() => {
          timer = undefined;
          asks += 1;
          ask();
        }, PAUSE_MS).unref();
      }
    },
  };
}

const isUnknown = (event: AgentEvent) => event.type === 'notice' && event.entry.kind === 'unknown';
