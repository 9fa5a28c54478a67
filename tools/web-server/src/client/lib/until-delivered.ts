import { isLost, resend, TransportError } from '@callboard/contract/client';

/** How long delivery is retried. */
export const PATIENCE_MS = 30_000;
/** How long one attempt may take. */
export const ATTEMPT_MS = 10_000;
/** How long an attempt that carries files may take: enough for large ones on a slow connection. */
export const UPLOAD_MS = 120_000;

interface Delivering {
  wait?: (ms: number) => Promise<void>;
  /** How long one attempt may take. */
  attemptMs?: number;
}

/**
 * Sends, and resends for about half a minute while the server does not answer, so that nobody has to click again while
 * Callboard restarts. Use it only for requests that may safely arrive twice.
 *
 * @param send makes attempt number `attempt`, counted from 1, and stops when its signal aborts
 * @throws the last error, if delivery fails for half a minute, which is `no_confirmation` if it may have arrived; at once if the server
 *   refuses
 */
export const untilDelivered = <T>(
  send: (attempt: number, signal: AbortSignal) => Promise<T>,
  { wait, attemptMs = ATTEMPT_MS }: Delivering = {},
): Promise<T> =>
  resend(({ nth, signal }) => send(nth, signal), { patienceMs: PATIENCE_MS, attemptMs, wait, unanswered }).catch(
    (error: unknown) => {
      throw unconfirmed(error, 'harmless');
    },
  );

export const UNANSWERED = 'Callboard did not answer. Try again once it is back.';

/** The error for a missing or incomplete response. */
export const unanswered = () => new TransportError(0, 'network', UNANSWERED);

const NOT_KNOWN = 'Callboard did not answer, so it is not known whether this was done.';
const NEXT = {
  harmless: 'Try again once it is back: it is not done twice.',
  unknown: 'Look at the board once it is back, before you try again.',
};

/** Returns the error, or that of a command that may have been executed if its reply was lost. @param again what sending it again would be */
export const unconfirmed = (error: unknown, again: keyof typeof NEXT): unknown =>
  isLost(error) ? new TransportError(0, 'no_confirmation', `${NOT_KNOWN} ${NEXT[again]}`, { cause: error }) : error;
