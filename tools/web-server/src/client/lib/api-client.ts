import { createHttpClient, type HttpClientOptions, TransportError } from '@callboard/contract/client';
import { pageFetch } from './page-fetch.ts';

const words = {
  unanswered: 'Callboard did not answer. Nothing here was lost; try again once it is back.',
  unreadable: (what: string) =>
    `Callboard gave an answer that this page does not understand (${what}). Reload the page; it may be older than the server.`,
} satisfies HttpClientOptions['words'];

/** Callboard, to this page: each request proves the page, and what goes wrong is told in words for a person. */
export const client = createHttpClient({ origin: '', fetch: pageFetch, words });

/** No answer came, or half of one. */
export const unanswered = () => new TransportError(0, 'network', words.unanswered);

/** Worth another try by itself: the server is not there, not there yet, or has too much to do. */
export const isTransient = (error: unknown): boolean => error instanceof TransportError && error.isTransient;

/** The login is over; a page that is not proved yet, or not any more, proves itself. */
export const isLoggedOut = (error: unknown): boolean =>
  error instanceof TransportError && error.status === 401 && error.code !== 'page_not_proven';

/** What went wrong, for a person. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
