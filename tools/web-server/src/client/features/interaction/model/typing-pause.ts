import { useEffect, useState } from 'react';
import { isTextField } from '../../../ui/shortcuts.ts';

const PAUSE_MS = 1_200;
/** Keys that write nothing into a field: the focus only passes through it, or what was written is sent. */
const PASSING: ReadonlySet<string> = new Set(['Tab', 'Escape', 'Enter', 'Shift', 'Control', 'Alt', 'Meta']);

/** True when nobody has typed text for a moment: the overlay does not come into the middle of a word. */
export function useTypingPause(): boolean {
  const [paused, setPaused] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (!isTextField(event.target) || PASSING.has(event.key)) return;
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
