import { useShortcuts } from '../../../ui/shortcuts.ts';

interface InboxKeys {
  /** In the order of the list. */
  keys: readonly string[];
  selected: string | null;
  select: (key: string) => void;
  open: () => void;
  /** Picks a row, or all that are equal to it. Returns false for one that cannot be picked. */
  pick: (key: string, isGroup: boolean) => boolean;
  /** Takes all picks back; null if nothing is picked. */
  endPicking: (() => void) | null;
}

/** The attribute with a row's key. */
export const ROW = 'data-row';

/**
 * J and K, or the arrow keys, move through the list; X picks, Shift+X all equal ones, Escape takes that back; Enter opens the
 * stage. A and D belong to the form.
 */
export function useInboxKeys({ keys, selected, select, open, pick, endPicking }: InboxKeys): void {
  const here = () => document.activeElement?.getAttribute(ROW) ?? selected;
  const move = (by: 1 | -1) => (event: KeyboardEvent) => {
    if (isBusy(event, event.key.startsWith('Arrow'))) return false;
    // The focus moves at once and the page follows, so that fast key presses are not lost.
    const row = here();
    const place = row === null ? -1 : keys.indexOf(row);
    const next = keys[Math.min(keys.length - 1, Math.max(0, place + by))];
    if (next === undefined) return false;
    select(next);
    document.querySelector<HTMLElement>(`[${ROW}="${CSS.escape(next)}"]`)?.focus();
    return true;
  };
  const enter = (event: KeyboardEvent) => {
    if (isBusy(event, true)) return false;
    open();
    return true;
  };
  const x = (event: KeyboardEvent) => {
    const row = here();
    return !isBusy(event, false) && row !== null && pick(row, event.shiftKey);
  };
  const end = (event: KeyboardEvent) => {
    if (isBusy(event, false) || endPicking === null) return false;
    endPicking();
    return true;
  };
  useShortcuts({ x, escape: end, j: move(1), arrowdown: move(1), k: move(-1), arrowup: move(-1), enter });
}

/** Whether a dialog or a menu is open, or (if `own`) the target uses the key itself. */
function isBusy({ target }: KeyboardEvent, own: boolean): boolean {
  if (document.querySelector('[role="dialog"], [role="menu"]') !== null) return true;
  if (!own || !(target instanceof Element)) return false;
  const isRow = target.closest(`[${ROW}]`) !== null;
  return !isRow && target.closest('a, button, input, select, summary, form, [tabindex="0"]') !== null;
}
