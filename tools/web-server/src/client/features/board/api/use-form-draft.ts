import { useState } from 'react';
import type { z } from 'zod';
import { readStored, removeStored, writeStored } from '../../../lib/browser-storage.ts';
import { StageForm } from '../model/stage-form.ts';

const StoredDraft = StageForm.partial();

type StoredDraft = z.infer<typeof StoredDraft>;

/** Chips of a new stage without a word of text are no draft. */
function withText(draft: StoredDraft, id: string): StoredDraft {
  const { title = '', prompt = '', phases = [] } = draft;
  return id !== 'new' || title + prompt !== '' || phases.length > 0 ? draft : {};
}

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
  const [draft, setDraft] = useState(() => withText(readStored(key, StoredDraft, {}), id));
  const [isRestored, setIsRestored] = useState(() => Object.keys(draft).length > 0);
  return {
    form: { ...initial, ...draft },
    /** Whether the form opened with an unsent draft. */
    isRestored,
    set(change: Partial<StageForm>): void {
      const all = { ...draft, ...change };
      setDraft(all);
      writeStored(key, all);
    },
    discard(): void {
      setDraft({});
      setIsRestored(false);
      removeStored(key);
    },
  };
}
