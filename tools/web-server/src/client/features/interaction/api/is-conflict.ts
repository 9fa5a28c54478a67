import { TransportError } from '@callboard/contract/client';

/** Whether an answer came too late: the request is decided or closed. */
export const isConflict = (error: unknown): error is TransportError =>
  error instanceof TransportError && ['already_decided', 'request_closed'].includes(error.code);
