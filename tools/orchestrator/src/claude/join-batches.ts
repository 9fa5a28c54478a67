import type { AgentEvent } from '../agent/agent-event.ts';
import { settlesWithin } from '../lib/wait.ts';

/** What one line of the spool told; `end` is the offset behind it. */
export interface ReadLine {
  events: AgentEvent[];
  end: number;
}

/** What the CLI says of its bookkeeping when a turn begins: in three lines, some milliseconds apart, that nobody waits for. */
const UNHURRIED = new Set<AgentEvent['type']>(['message-progress', 'conversation', 'turn-started', 'message-echoed']);

/** How long they wait for what comes behind them. */
const WAIT_MS = 20;
const MOST_LINES = 100;

function mayWait(lines: readonly ReadLine[]): boolean {
  const events = lines.flatMap((line) => line.events);
  return events.length > 0 && events.every(({ type }) => UNHURRIED.has(type)) && lines.length < MOST_LINES;
}

/**
 * Hands batches on, each as it comes, but for those that nobody waits for: these are handed on together with the next
 * one, or after a moment, so that they cost one transaction and not one each.
 */
export async function* joinBatches(batches: AsyncGenerator<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  let ahead: Promise<IteratorResult<ReadLine[]>> | undefined;
  for (;;) {
    const { done, value } = await (ahead ?? batches.next());
    if (done) return;
    ahead = undefined;
    let lines = value;
    while (mayWait(lines)) {
      ahead = batches.next();
      if (!(await settlesWithin(ahead, WAIT_MS))) break;
      const next = await ahead.catch(() => null);
      if (next === null || next.done) break; // the next round tells of it, once these are handed on
      lines = [...lines, ...next.value];
      ahead = undefined;
    }
    yield lines;
  }
}
