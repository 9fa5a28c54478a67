import { channel } from 'node:diagnostics_channel';

const marks = channel('callboard:turn');

/**
 * Marks that a frame or a line (`of`) reached a step of a turn. Only the benchmark and `npm run walk` listen, to measure
 * where the time of a turn goes. Without a listener this does nothing.
 */
export function mark(step: string, of = ''): void {
  if (marks.hasSubscribers) marks.publish({ step, of });
}
