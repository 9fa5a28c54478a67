import type { Step } from './script.ts';

/** How one attempt at a step fails. */
export type Failure =
  | ({ kind: 'http'; status: number; type: string; message: string } & Pick<
      NonNullable<Step['error']>,
      'retryAfterSeconds' | 'headers'
    >)
  | { kind: 'cut'; when: 'before' | 'during' }
  | { kind: 'stream'; type: string; message: string };

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

/** The failure of the n-th attempt (from 0) at a step, if any: errors first, then cuts, then errors in the stream. */
export function failureOf(step: Step, tries: number): Failure | undefined {
  const { error, cut, streamError } = step;
  if (error !== undefined && tries < (error.times ?? Number.POSITIVE_INFINITY)) {
    const type = error.type ?? TYPES[error.status] ?? 'api_error';
    const message = error.message ?? `Scripted ${type}`;
    const { status, retryAfterSeconds, headers } = error;
    return { kind: 'http', status, type, message, retryAfterSeconds, ...(headers && { headers }) };
  }
  const afterErrors = tries - (error?.times ?? 0);
  if (cut !== undefined && afterErrors < (step.cutTimes ?? Number.POSITIVE_INFINITY)) return { kind: 'cut', when: cut };
  const afterCuts = afterErrors - (cut === undefined ? 0 : (step.cutTimes ?? 0));
  if (streamError === undefined || afterCuts >= (streamError.times ?? Number.POSITIVE_INFINITY)) return undefined;
  const type = streamError.type ?? 'overloaded_error';
  return { kind: 'stream', type, message: streamError.message ?? `Scripted ${type}` };
}

/** The body of an error, in an HTTP reply and in a stream alike. */
export function errorBody({ type, message }: { type: string; message: string }): StreamErrorBody {
  return { type: 'error', error: { type, message } };
}

type StreamErrorBody = { type: 'error'; error: { type: string; message: string } };
