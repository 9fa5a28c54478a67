import { useEffect } from 'react';
import { useTopLayer } from '../../../ui/dialog-layers.ts';
import { isTextField, useLetterKeys } from '../../../ui/shortcuts.ts';

const STEPS: Readonly<Record<string, number>> = { j: 1, arrowdown: 1, k: -1, arrowup: -1 };
const resultLinks = () => [...document.querySelectorAll<HTMLElement>('a[data-result]')];

/** Moves the focus to the first result. Returns whether there is one. */
export function focusFirstResult(): boolean {
  const [first] = resultLinks();
  first?.focus();
  return first !== undefined;
}

/** J, K and the arrow keys move along the results; Enter follows the link. Up from the first one goes back to the words. */
export function useResultKeys(): void {
  const isCovered = useTopLayer() !== 'page';
  useEffect(() => {
    if (isCovered) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase();
      const step = STEPS[key];
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
      if (step === undefined || !isPlain || event.defaultPrevented || isTextField(event.target)) return;
      if (key.length === 1 && !useLetterKeys.getState().on) return;
      const links = resultLinks();
      const at = links.findIndex((link) => link.matches(':focus'));
      if (at === 0 && step === -1) document.querySelector<HTMLElement>('[data-shortcut="find"]')?.focus();
      else links[at === -1 ? 0 : at + step]?.focus();
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isCovered]);
}
