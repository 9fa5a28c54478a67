import { type ErrorStep, type ProblemDefinition, problems } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { errorText } from './api-client.ts';

/** An error for a person: the cause first, what only some want to read apart from it, and what can be done. */
export interface ErrorDescription {
  text: string;
  details: string | null;
  step: ErrorStep | null;
}

export function describeError(error: unknown): ErrorDescription {
  const parts = errorDeps(error);
  if (!(error instanceof TransportError)) return { ...parts, step: null };
  if (error.code === 'network') return { ...parts, step: 'try-again' };
  if (error.code === 'unreadable') return { ...parts, step: 'reload' };
  const { text, step }: ProblemDefinition = problems[error.code];
  return { ...parts, text: text ?? parts.text, step: step ?? null };
}

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
