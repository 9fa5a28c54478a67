import { channel } from 'node:diagnostics_channel';

const marks = channel('callboard:turn');

/**
 * Tells that a step of a turn was reached, and of which frame or line. Nobody listens but the benchmark, which finds out
 * where the time of a turn goes; without a listener this does nothing.
 */
export function mark(step: string, of = ''): void {
  if (marks.hasSubscribers) marks.publish({ step, of });
}
