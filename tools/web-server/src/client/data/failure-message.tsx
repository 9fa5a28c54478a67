import type { ReactNode } from 'react';
import { errorParts } from '../lib/error-parts.ts';

/** A refusal for a notification: what happened and what to do next; details, such as git's own words, are folded. */
export function failureMessage(error: unknown): { message: ReactNode; hasDetails: boolean } {
  const { text, details } = errorParts(error);
  if (details === null) return { message: text, hasDetails: false };
  const message = (
    <>
      {text}
      <details>
        <summary>Details</summary>
        <pre style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', margin: 0 }}>{details}</pre>
      </details>
    </>
  );
  return { message, hasDetails: true };
}
