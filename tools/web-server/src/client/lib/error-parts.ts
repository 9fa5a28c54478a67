import { errorText } from './api-client.ts';

/** A refusal for a person: what happened, why and what to do, and apart from that what only some want to read, such as git's output. */
export interface ErrorParts {
  text: string;
  details: string | null;
}

/** Splits a refusal's text: the server puts details on lines of their own, below the first. */
export function errorDeps(error: unknown): ErrorParts {
  const [first = '', ...rest] = errorText(error).trim().split('\n');
  const details = rest.join('\n').trim();
  return { text: first, details: details === '' ? null : details };
}
