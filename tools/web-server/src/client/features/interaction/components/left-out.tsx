import type { PendingRequest } from '@callboard/contract';
import { useState } from 'react';
import { Note } from '../../../ui/note.tsx';
import { useDraft } from '../api/use-draft.ts';
import css from './request.module.css';

/** A second press so soon belongs to the first. */
const ONE_PRESS_MS = 500;

interface LeftOut {
  request: PendingRequest;
  /** What else was written that only a no takes along: "2 comments". */
  besides?: readonly string[];
  /** The buttons' names. */
  yes: string;
  no: string;
}

/** A yes has no words for Claude. Where some were written, the first press says so, and the next one goes on. */
export function useLeftOut({ request, besides = [], yes, no }: LeftOut) {
  const [{ reason }] = useDraft(request);
  const [askedAt, setAskedAt] = useState<number | null>(null);
  const parts = [...besides, ...(reason.trim() === '' ? [] : ['the reason'])];
  const guard = (act: () => void) => () => {
    if (parts.length === 0) act();
    else if (askedAt === null) setAskedAt(performance.now());
    else if (performance.now() - askedAt > ONE_PRESS_MS) act();
  };
  const isAsked = askedAt !== null && parts.length > 0;
  const note = (
    <div className={css.sending} role="status">
      {isAsked && (
        <Note>
          “{yes}” leaves out what you wrote ({parts.join(' and ')}): Claude reads it only with “{no}”. Press “{yes}”
          again to go on without it.
        </Note>
      )}
    </div>
  );
  return { guard, note };
}
