import { useEffect, useLayoutEffect, useRef } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/browser-storage.ts';

const KEY = 'callboard-letter-keys';

interface LetterKeys {
  /** Whether single letters are shortcuts. People who dictate, or whose hand slips, turn them off. */
  on: boolean;
  set(on: boolean): void;
}

/** The setting for single-letter shortcuts, kept by this browser. */
export const useLetterKeys = create<LetterKeys>((set) => ({
  on: readStored(KEY, z.boolean(), true),
  set: (on) => {
    writeStored(KEY, on);
    set({ on });
  },
}));

/** Whether keys pressed there type text. */
export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return (
    target instanceof HTMLInputElement && !['button', 'checkbox', 'radio', 'submit', 'range'].includes(target.type)
  );
}

const isPlain = (event: KeyboardEvent) => !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;

/** Single letters as shortcuts on the whole page, except in text fields. A handler that returns false ignores the key. */
export function useShortcuts(handlers: Readonly<Record<string, (event: KeyboardEvent) => boolean | undefined>>): void {
  const latest = useRef(handlers);
  // Before paint: a key may be pressed as soon as its button is visible.
  useLayoutEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!useLetterKeys.getState().on) return;
      const handler = latest.current[event.key.toLowerCase()];
      if (handler === undefined || event.defaultPrevented || !isPlain(event) || isTextField(event.target)) return;
      if (handler(event) !== false) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}
