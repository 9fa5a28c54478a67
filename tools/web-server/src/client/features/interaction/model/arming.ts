import { useEffect, useLayoutEffect, useState } from 'react';
import { isTextField } from '../../../ui/shortcut.ts';

// What keeps a finger that is still moving from deciding something that was not seen yet.

/** The second half of a double click must not answer the request that follows. */
const FOLLOW_UP_MS = 250;
/** Who was writing when the overlay opened goes on writing for a moment. */
const QUIET_MS = 1_000;

let answeredAt = Number.NEGATIVE_INFINITY;

export function markAnswered(): void {
  answeredAt = performance.now();
}

/** False for a moment when the request `key` took the place of one that was just answered. */
export function useArmed(key: string): boolean {
  const [armedFor, setArmedFor] = useState(() => (justAnswered() ? null : key));
  useEffect(() => {
    const timer = setTimeout(() => setArmedFor(key), justAnswered() ? FOLLOW_UP_MS : 0);
    return () => clearTimeout(timer);
  }, [key]);
  return armedFor === key;
}

const justAnswered = () => performance.now() - answeredAt < FOLLOW_UP_MS;

/** Whether letters may be taken as shortcuts: not while somebody goes on with a text that the overlay came over. */
export function useQuietKeys(opened: boolean): () => boolean {
  const [state] = useState({ until: 0 });
  useEffect(() => {
    if (!opened) return;
    const onKey = () => {
      if (performance.now() < state.until) state.until = performance.now() + QUIET_MS;
    };
    document.addEventListener('keydown', onKey, { capture: true });
    return () => document.removeEventListener('keydown', onKey, { capture: true });
  }, [opened, state]);
  useEffect(() => {
    // Runs before the focus moves into the dialog, which happens a moment later.
    if (opened && isTextField(document.activeElement)) state.until = performance.now() + QUIET_MS;
  }, [opened, state]);
  return () => performance.now() >= state.until;
}

/** A text that is empty again counts as being written for as long as this. */
const WRITING_MS = 10_000;
let written: { field: EventTarget | null; at: number } = { field: null, at: Number.NEGATIVE_INFINITY };

/** Whether somebody who has the focus there would go on writing: it holds text, or did a moment ago. */
function isWriting(field: Element | null): boolean {
  if (field instanceof HTMLSelectElement || !isTextField(field)) return false;
  const isInput = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  const text = isInput ? field.value : field?.textContent;
  return text !== '' || (written.field === field && performance.now() - written.at < WRITING_MS);
}

/**
 * `held`: the overlay took the focus from somebody who was writing. What they write on is no answer, however long they
 * thought before: no key decides until they turn to the overlay, with Tab, an arrow or a press into it.
 */
export type KeyHold = 'none' | 'held' | 'released';

/** The keys that turn to the overlay without deciding anything. */
const isTurning = (event: KeyboardEvent) =>
  (event.key === 'Tab' || event.key.startsWith('Arrow')) && !event.ctrlKey && !event.metaKey && !event.altKey;

/** Holds the keys of the overlay while it has the focus of somebody who was writing. `isCovered`: keys go elsewhere. */
export function useKeyHold(opened: boolean, isCovered: boolean): [KeyHold, release: () => void] {
  const [hold, setHold] = useState<KeyHold>('none');
  const release = () => setHold((old) => (old === 'held' ? 'released' : old));
  // Runs before the focus moves into the dialog.
  useLayoutEffect(() => setHold(opened && isWriting(document.activeElement) ? 'held' : 'none'), [opened]);
  const isHeld = hold === 'held' && !isCovered;
  useEffect(() => {
    if (!isHeld) return;
    const onKey = (event: KeyboardEvent) => {
      if (isTurning(event)) setHold('released');
      // A button that has the focus is not pressed by the end of a sentence either.
      else if (event.key === 'Enter' || event.key === ' ') event.preventDefault();
    };
    document.addEventListener('keydown', onKey, { capture: true });
    return () => document.removeEventListener('keydown', onKey, { capture: true });
  }, [isHeld]);
  return [hold, release];
}

const PAUSE_MS = 1_200;
/** Keys that write nothing into a field: the focus only passes through it. */
const PASSING: ReadonlySet<string> = new Set(['Tab', 'Escape', 'Shift', 'Control', 'Alt', 'Meta']);

/** True when nobody has typed text for a moment: the overlay does not come into the middle of a word. */
export function useTypingPause(): boolean {
  const [paused, setPaused] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (!isTextField(event.target) || PASSING.has(event.key)) return;
      // Enter ends what was written: a message is sent.
      written = { field: event.target, at: event.key === 'Enter' ? Number.NEGATIVE_INFINITY : performance.now() };
      if (event.key === 'Enter') return;
      setPaused(false);
      clearTimeout(timer);
      timer = setTimeout(() => setPaused(true), PAUSE_MS);
    };
    document.addEventListener('keydown', onKey, { capture: true });
    return () => {
      clearTimeout(timer);
      document.removeEventListener('keydown', onKey, { capture: true });
    };
  }, []);
  return paused;
}
