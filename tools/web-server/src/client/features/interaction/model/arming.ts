import { useEffect, useState } from 'react';
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

const PAUSE_MS = 1_200;

/** True when nobody has typed text for a moment: the overlay does not come into the middle of a word. */
export function useTypingPause(): boolean {
  const [paused, setPaused] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (!isTextField(event.target) || event.key === 'Enter') return;
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
