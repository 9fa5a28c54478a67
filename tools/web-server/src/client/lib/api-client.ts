import { type CommandInput, type CommandReply, REPLY_LIMITS_MS, timeOf } from '@callboard/contract';
import {
  type CallOptions,
  createHttpClient,
  type HttpClientOptions,
  idempotencyHeaders,
  type RoutedCommand,
  resend,
  routes,
  TransportError,
} from '@callboard/contract/client';
import { createStore } from 'zustand/vanilla';
import { withoutHanging } from './hung-requests.ts';
import { pageFetch } from './page-fetch.ts';
import { ATTEMPT_MS, PATIENCE_MS, UNANSWERED, UPLOAD_MS, unanswered, unconfirmed } from './until-delivered.ts';

const text = {
  unanswered: UNANSWERED,
  unreadable: (what: string) =>
    `Callboard sent a response that this page does not understand (${what}). Reload the page: it may be older than the server.`,
} satisfies HttpClientOptions['text'];

const http = createHttpClient({ origin: '', fetch: pageFetch, text });

/** More than so many characters take time to send. */
const LARGE = 100_000;

/** How long the answer to a read may be on its way, beside the time that the server takes. */
const ON_ITS_WAY_MS = 25_000;

const isLargeInput = (input: object): boolean => JSON.stringify(input).length > LARGE;

/** Sends a command once. It is given up if the way to the server loses it. */
function once<T extends RoutedCommand>(
  type: T,
  input: CommandInput<T> & object,
  options: CallOptions,
): Promise<CommandReply<T>> {
  const isRead = routes[type].method === 'GET';
  const isLast = options.keepalive === true;
  return withoutHanging((signal) => http.command(type, input, { ...options, signal }), {
    signal: options.signal,
    ...(isRead && { limitMs: REPLY_LIMITS_MS[timeOf(type)] + ON_ITS_WAY_MS }),
    ...(isLast && { limitMs: ATTEMPT_MS }),
    isRead,
    isLast,
    isLarge: !isRead && isLargeInput(input),
    unanswered,
  });
}

/** As `http.call`, of which it waits for the head of the response. */
const call: typeof http.call = (route, fields, options = {}) =>
  withoutHanging((signal) => http.call(route, fields, { ...options, signal }), {
    signal: options.signal,
    isRead: route.method === 'GET',
    unanswered,
  });

const file: typeof http.file = (route, fields, given) =>
  withoutHanging((signal) => http.file(route, fields, signal), { signal: given, isRead: true, unanswered });

/**
 * Sends a command. One that changes something is sent again while its reply is lost: under its key the server executes it once, and
 * says what became of it. With a signal or `keepalive`, it is sent once: who passes those resends it itself, or nobody waits.
 * @throws TransportError; `no_confirmation` if it may have been executed and nobody could say so
 */
async function command<T extends RoutedCommand>(
  type: T,
  input: CommandInput<T> & object,
  options: CallOptions = {},
): Promise<CommandReply<T>> {
  const reply = await deliver(type, input, options);
  lastCommand.setState({ type });
  return reply;
}

/** The latest command of this page that was executed; it changes with each of them. */
export const lastCommand = createStore<{ type: RoutedCommand | null }>(() => ({ type: null }));

async function deliver<T extends RoutedCommand>(
  type: T,
  input: CommandInput<T> & object,
  options: CallOptions,
): Promise<CommandReply<T>> {
  const isRead = routes[type].method === 'GET';
  if (isRead || options.signal !== undefined || options.keepalive === true) return once(type, input, options);
  const key = crypto.randomUUID();
  try {
    return await resend(
      (attempt) => once(type, input, { signal: attempt.signal, headers: idempotencyHeaders(key, attempt) }),
      {
        patienceMs: PATIENCE_MS,
        heldMs: REPLY_LIMITS_MS[timeOf(type)],
        attemptMs: isLargeInput(input) ? UPLOAD_MS : ATTEMPT_MS,
        unanswered,
      },
    );
  } catch (error) {
    throw unconfirmed(error, 'unknown');
  }
}

/** The page's API client. Each request carries the proof of this page; errors have texts for people. */
export const client = { ...http, command, call, file };

export { unanswered };

/** Whether a retry may succeed: the server is away, still starting, or too busy. */
export const isTransient = (error: unknown): boolean => error instanceof TransportError && error.isTransient;

/** Whether the login has ended. A page whose proof is missing or outdated proves itself again instead. */
export const isLoggedOut = (error: unknown): boolean =>
  error instanceof TransportError && error.status === 401 && error.code !== 'page_not_proven';

/** Failures after which it may have been done all the same. */
const UNCERTAIN: readonly TransportError['code'][] = [
  'network',
  'unreadable',
  'internal',
  'no_confirmation',
  'reply_lost',
];

/** Whether a command that failed so may have been executed all the same. */
export const isUncertain = (error: unknown): boolean =>
  error instanceof TransportError && UNCERTAIN.includes(error.code);

/**
 * What did not happen, as a heading or before the cause, if that is known; else both that may be. No page says that nothing happened
 * unless it knows.
 */
export function failureText(text: string, error: unknown): string {
  if (!(error instanceof TransportError) || error.code !== 'no_confirmation') return text;
  const end = text.endsWith('.') ? '.' : '';
  return `${end === '' ? text : text.slice(0, -1)}, or its confirmation was lost${end}`;
}

/** What a failure to save means, before its cause. Only where saving the same again does no harm. */
export const failureLead = (error: unknown): string =>
  isUncertain(error) ? 'It may have been saved. Saving it again does no harm.' : 'Nothing was changed.';

/** The error's text, for a person. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
