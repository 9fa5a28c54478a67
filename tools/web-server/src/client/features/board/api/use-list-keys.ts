import { useLetterKeys } from '../../../ui/shortcuts.ts';
import { useDocumentKeys } from './use-board-keys.ts';

const STEPS: Readonly<Record<string, number>> = { j: 1, arrowdown: 1, k: -1, arrowup: -1 };

/** J, K and the arrow keys move along a list of links, from the first key on. @param selector the links */
export function useListKeys(selector: string): void {
  useDocumentKeys((event) => {
    const key = event.key.toLowerCase();
    const step = STEPS[key];
    const isLetter = key === 'j' || key === 'k';
    if (step === undefined || (isLetter && !useLetterKeys.getState().on)) return false;
    const links = [...document.querySelectorAll<HTMLElement>(selector)];
    const at = links.findIndex((link) => link.matches(':focus'));
    if (at === -1 && !isLetter && event.target !== document.body) return false;
    links[at === -1 ? 0 : at + step]?.focus();
    return true;
  });
}
