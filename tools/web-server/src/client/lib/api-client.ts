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

/** The error's text, for a person. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
