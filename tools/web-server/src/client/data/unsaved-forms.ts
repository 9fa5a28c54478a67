import { useEffect, useRef, useState } from 'react';
import { create } from 'zustand';
import { type BoardForm, useBoardUi } from './board-ui.ts';

interface UnsavedForms {
  /** The forms of the open dialog with edits that are not saved. */
  names: ReadonlySet<string>;
  /** The person was about to leave for another form, or for none; null if nothing is asked. */
  asked: { next: BoardForm | null } | null;
  mark(name: string, isUnsaved: boolean): void;
  ask(asked: UnsavedForms['asked']): void;
}

export const useUnsavedForms = create<UnsavedForms>((set) => ({
  names: new Set(),
  asked: null,
  mark: (name, isUnsaved) =>
    set(({ names: old }) => {
      if (old.has(name) === isUnsaved) return {};
      const others = [...old].filter((one) => one !== name);
      return { names: new Set(isUnsaved ? [...others, name] : others) };
    }),
  ask: (asked) => set({ asked }),
}));

/** Closes the dialog, or goes on to another form, after asking if something in it is not saved. */
export function leaveForm(next: BoardForm | null = null): void {
  const { names, ask } = useUnsavedForms.getState();
  if (names.size === 0) discardForm(next);
  // Later, or the Escape that asks would answer as well.
  else setTimeout(() => ask({ next }));
}

/** Leaves the dialog with whatever is in it. */
export function discardForm(next: BoardForm | null): void {
  useUnsavedForms.getState().ask(null);
  const { open, closeForm } = useBoardUi.getState();
  if (next === null) closeForm();
  else open(next);
}

/**
 * Knows whether a form has edits that are not saved. `saved` closes the dialog, unless another form in it has some.
 * @param value all that can be edited in the form
 */
export function useUnsaved(
  name: string,
  value: unknown,
): { isUnsaved: boolean; submitting: () => void; saved: () => void } {
  const text = JSON.stringify(value);
  const [saved, save] = useState(text);
  const sent = useRef(text);
  const { mark } = useUnsavedForms.getState();
  useEffect(() => mark(name, text !== saved), [mark, name, text, saved]);
  useEffect(() => () => mark(name, false), [mark, name]);
  return {
    isUnsaved: text !== saved,
    submitting() {
      sent.current = text;
    },
    saved() {
      save(sent.current);
      mark(name, false);
      if (useUnsavedForms.getState().names.size === 0) useBoardUi.getState().closeForm();
    },
  };
}
