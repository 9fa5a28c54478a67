import { createHttpClient, type HttpClientOptions, TransportError } from '@callboard/contract/client';
import { pageFetch } from './page-fetch.ts';

const words = {
  unanswered: 'Callboard did not answer. Nothing here was lost; try again once it is back.',
  unreadable: (what: string) =>
    `Callboard sent a response that this page does not understand (${what}). Reload the page: it may be older than the server.`,
} satisfies HttpClientOptions['words'];

/** The page's API client. Each request carries the proof of this page; errors have texts for people. */
export const client = createHttpClient({ origin: '', fetch: pageFetch, words });

/** The error for a missing or incomplete response. */
export const unanswered = () => new TransportError(0, 'network', words.unanswered);

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
  'orchestrator_unreachable',
];

/** Whether a command that failed so may have been executed all the same. */
export const isUncertain = (error: unknown): boolean =>
  error instanceof TransportError && UNCERTAIN.includes(error.code);

/** What a failure to save means, before its cause. Only where saving the same again does no harm. */
export const failureLead = (error: unknown): string =>
  isUncertain(error) ? 'It may have been saved. Saving it again does no harm.' : 'Nothing was changed.';

/** The error's text, for a person. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
