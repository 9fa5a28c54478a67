import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/browser-storage.ts';
import css from './key-hint.module.css';

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

/**
 * What is on top: the page, the request overlay, another dialog (which covers the overlay too), or the overlay again
 * after somebody opened it over a dialog.
 */
export type Layer = 'page' | 'overlay' | 'dialog' | 'above';

const useOpenDialogs = create(() => ({ overlay: 0, dialog: 0, above: 0 }));

const add = (layer: Exclude<Layer, 'page'>, change: number) =>
  useOpenDialogs.setState((open) => ({ [layer]: open[layer] + change }));

/** Makes everything behind a dialog unreachable while the dialog is open. */
export function useCoversPage(opened: boolean, layer: Exclude<Layer, 'page'> = 'dialog'): void {
  useEffect(() => {
    if (!opened) return;
    add(layer, 1);
    return () => add(layer, -1);
  }, [opened, layer]);
}

/** The top layer. Nothing below it can be reached, takes keys, or is read out. */
export const useTopLayer = (): Layer =>
  useOpenDialogs(({ overlay, dialog, above }) => {
    if (above > 0) return 'above';
    if (dialog > 0) return 'dialog';
    return overlay > 0 ? 'overlay' : 'page';
  });

/** How long a dialog takes to fade out and return the focus. */
const CLOSING_MS = 300;

/** True while `isSo` is, and for a moment after: the key that closes one dialog must not act on the next. */
export function useRecentlyShown(isSo: boolean): boolean {
  const [recentlyShown, setRecentlyShown] = useState(isSo);
  useEffect(() => {
    if (isSo) {
      setRecentlyShown(true);
      return;
    }
    const timer = setTimeout(() => setRecentlyShown(false), CLOSING_MS);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo || recentlyShown;
}

interface KeyHintProps {
  children: string;
  /** The key does nothing right now. It keeps its room, so that nothing moves when it works again. */
  isOff?: boolean;
}

/** Whether a letter would be typed: a text field has the focus. */
const useTypesLetters = (): boolean =>
  useSyncExternalStore(
    (changed) => {
      const events = ['focusin', 'focusout'] as const;
      for (const event of events) document.addEventListener(event, changed);
      return () => {
        for (const event of events) document.removeEventListener(event, changed);
      };
    },
    () => isTextField(document.activeElement),
  );

/** The key that does the same as its button, where it does so now. It is not part of the button's accessible name. */
export function KeyHint({ children, isOff = false }: KeyHintProps) {
  const isTyped = useTypesLetters() && children.length === 1;
  return (
    <span aria-hidden className={css.hint} data-off={isOff || isTyped}>
      {children}
    </span>
  );
}

/** The key code of a key that an input method handles. Deprecated, but all that Safari tells. */
const HANDLED_BY_INPUT_METHOD = 229;

/**
 * Whether a key belongs to the composition of a text (Japanese, Chinese, an accent): Enter then takes a word and sends nothing.
 * Safari ends the composition before it tells of the Enter that ended it, so `isComposing` is false there.
 */
export const isComposing = (event: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean =>
  event.isComposing || event.keyCode === HANDLED_BY_INPUT_METHOD;
