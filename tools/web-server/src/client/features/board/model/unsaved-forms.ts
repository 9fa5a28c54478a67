import { useEffect, useRef, useState } from 'react';
import { create } from 'zustand';
import { useBoardUi } from './board-ui.ts';

interface UnsavedForms {
  /** The forms of the open dialog with edits that are not saved. */
  names: ReadonlySet<string>;
  /** The person was about to close the dialog. */
  isAsked: boolean;
  mark(name: string, isUnsaved: boolean): void;
  ask(isAsked: boolean): void;
}

export const useUnsavedForms = create<UnsavedForms>((set) => ({
  names: new Set(),
  isAsked: false,
  mark: (name, isUnsaved) =>
    set(({ names: old }) => {
      if (old.has(name) === isUnsaved) return {};
      const others = [...old].filter((one) => one !== name);
      return { names: new Set(isUnsaved ? [...others, name] : others) };
    }),
  ask: (isAsked) => set({ isAsked }),
}));

/** Closes the dialog, after asking if something in it is not saved. */
export function leaveForm(): void {
  const { names, ask } = useUnsavedForms.getState();
  if (names.size > 0) ask(true);
  else useBoardUi.getState().closeForm();
}

/**
 * Knows whether a form has edits that are not saved. `saved` closes the dialog, unless another form in it has some.
 * @param value all that can be edited in the form
 */
export function useUnsaved(name: string, value: unknown): { submitting: () => void; saved: () => void } {
  const text = JSON.stringify(value);
  const [kept, keep] = useState(text);
  const sent = useRef(text);
  const { mark } = useUnsavedForms.getState();
  useEffect(() => mark(name, text !== kept), [mark, name, text, kept]);
  useEffect(() => () => mark(name, false), [mark, name]);
  return {
    submitting() {
      sent.current = text;
    },
    saved() {
      keep(sent.current);
      mark(name, false);
      if (useUnsavedForms.getState().names.size === 0) useBoardUi.getState().closeForm();
    },
  };
}
