import { useState } from 'react';
import { v4 as newId } from 'uuid';
import { z } from 'zod';
import { readStored, removeStored, writeStored } from '../../../lib/browser-storage.ts';
import { StageForm } from '../model/stage-form.ts';

const StoredDraft = StageForm.partial().extend({ draftId: z.uuid().optional() });

type StoredDraft = z.infer<typeof StoredDraft>;

/** Chips of a new stage without a word of text are no draft. */
function withText(draft: StoredDraft, id: string): StoredDraft {
  const { title = '', prompt = '', phases = [] } = draft;
  return id !== 'new' || title + prompt !== '' || phases.length > 0 ? draft : {};
}

export type FormDraft = ReturnType<typeof useFormDraft>;

/**
 * The stage form with its unsent draft. This browser keeps the draft until it is sent or discarded, so that Escape, a
 * reload or a crash loses nothing.
 *
 * @param id what the form is for, unique among all such forms
 * @param begin returns the unchanged form; called once
 */
export function useFormDraft(id: string, begin: () => StageForm) {
  const key = `callboard-stage-form:${id}`;
  const [initial] = useState(begin);
  const [stored, setStored] = useState(() => withText(readStored(key, StoredDraft, {}), id));
  const [isRestored, setIsRestored] = useState(() => Object.keys(stored).length > 0);
  const [firstId] = useState(() => newId());
  const { draftId = firstId, ...draft } = stored;
  function save(next: StoredDraft): void {
    setStored(next);
    writeStored(key, next);
  }
  function discard(): void {
    setStored({ draftId: newId() });
    setIsRestored(false);
    removeStored(key);
  }
  return {
    form: { ...initial, ...draft },
    /** Other drafts of the same form have others. */
    draftId,
    /** Whether the form opened with an unsent draft. */
    isRestored,
    set: (change: Partial<StageForm>) => save({ ...draft, draftId, ...change }),
    discard,
    /** Begins another draft with these fields. */
    restart: (form: StageForm) => save({ ...form, draftId: newId() }),
    /** Returns how to discard what is sent now, once it has arrived. That returns false, and keeps all, if it was changed since. */
    sending(): () => boolean {
      const saved = () => JSON.stringify(readStored(key, StoredDraft, {}));
      const sent = saved();
      return () => {
        const isSame = saved() === sent;
        if (isSame) discard();
        return isSame;
      };
    },
  };
}
