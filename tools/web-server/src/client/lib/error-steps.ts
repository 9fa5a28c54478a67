import { type ErrorStep, type ProblemDefinition, problems } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { errorDeps } from './error-parts.ts';

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
