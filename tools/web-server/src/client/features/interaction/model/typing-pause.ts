import { useEffect, useState } from 'react';
import { isTextField } from '../../../ui/shortcuts.ts';

const PAUSE_MS = 1_200;
/** Keys that write nothing into a field: they move the focus or send the text. */
const PASSING: ReadonlySet<string> = new Set(['Tab', 'Escape', 'Enter', 'Shift', 'Control', 'Alt', 'Meta']);

/** True if nobody has typed for a moment, so that the overlay does not open in the middle of a word. */
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
