import type { PendingRequest } from '@callboard/contract';
import { useState } from 'react';
import { Note } from '../../../ui/note.tsx';
import { useDraft } from '../api/use-draft.ts';
import type { Press } from './decision-place.tsx';
import css from './request.module.css';

/** A second press within this time belongs to the first. */
const ONE_PRESS_MS = 500;

interface UnsentTextWarning {
  request: PendingRequest;
  /** Other written text that is sent only with a denial: "2 comments". */
  besides?: readonly string[];
  /** The labels of the buttons. */
  yes: string;
  no: string;
}

/** An allowance carries no text for Claude. If a person wrote some, the first press warns and the second one allows. */
export function useUnsentTextWarning({ request, besides = [], yes, no }: UnsentTextWarning) {
  const [{ reason }] = useDraft(request);
  const [askedAt, setAskedAt] = useState<number | null>(null);
  const parts = [...besides, ...(reason.trim() === '' ? [] : ['the reason'])];
  const guard = (act: (press?: Press) => void) => (press?: Press) => {
    if (parts.length === 0) act(press);
    else if (askedAt === null) setAskedAt(performance.now());
    else if (performance.now() - askedAt > ONE_PRESS_MS) act(press);
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
