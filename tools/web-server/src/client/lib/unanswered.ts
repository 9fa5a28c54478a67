import { isLost, TransportError } from '@callboard/contract/client';

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
