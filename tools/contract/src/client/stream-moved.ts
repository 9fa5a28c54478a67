import { TransportError } from './transport.ts';

/** How long a stream is kept that another web server holds: a balancer that takes servers in turn would end each at once. */
const REOPEN_AFTER_MS = 30_000;

/**
 * Whether to open a stream anew whose `watch` was refused with this error: the web server that answers has no such stream, since a
 * balancer gives this client another one now, so the new stream comes from there. True at most once in half a minute.
 */
export function createStreamMoved(): (error: unknown) => boolean {
  let movedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!isNoStream(error) || performance.now() - movedAt < REOPEN_AFTER_MS) return false;
    movedAt = performance.now();
    return true;
  };
}

/** Whether a `watch` was refused because there is no such stream. */
export const isNoStream = (error: unknown): boolean => error instanceof TransportError && error.code === 'not_found';
