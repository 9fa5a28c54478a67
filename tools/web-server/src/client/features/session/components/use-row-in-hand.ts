import type { Virtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useState } from 'react';
import type { RowList } from '../model/row-list.ts';

interface HandOptions {
  rows: RowList;
  virtualizer: Virtualizer<HTMLElement, Element>;
  goTo: (index: number, align: 'auto' | 'center') => void;
}

/** The keys of buttons in a row: a button with `data-row-key` is pressed by it while its row is in hand. */
const ROW_KEYS: readonly string[] = ['r', 'f'];

/** The row that keys work on: j and k move it, Enter opens and folds what is in it. */
export function useRowInHand(box: RefObject<HTMLElement | null>, { rows, virtualizer, goTo }: HandOptions) {
  const [held, setHeld] = useState<{ key: string; index: number } | null>(null);
  const current = held === null ? null : indexOf(rows, held);

  const take = (index: number) => setHeld({ key: rows.keyAt(index), index });
  const move = (by: 1 | -1): void => {
    const from = current ?? middleRow(virtualizer) - by;
    const index = Math.max(0, Math.min(rows.count - 1, from + by));
    take(index);
    goTo(index, 'auto');
  };
  const inRow = (selector: string) =>
    box.current?.querySelector<HTMLButtonElement>(`[data-index="${current}"] button${selector}`);
  const toggle = (): void => inRow('[aria-expanded]')?.click();
  const press = (key: string): boolean => {
    const button = inRow(`[data-row-key="${key}"]`);
    button?.click();
    return button != null;
  };

  return {
    key: current === null ? null : (held?.key ?? null),
    take,
    /** Whether the key did something. */
    onKey(key: string): boolean {
      if (rows.count === 0) return false;
      if (key === 'j') move(1);
      else if (key === 'k') move(-1);
      else if (key === 'Enter' && current !== null) toggle();
      else if (current !== null && ROW_KEYS.includes(key)) return press(key);
      else return false;
      return true;
    },
  };
}

/** Where the row is now; rows may have been added before it. */
function indexOf(rows: RowList, { key, index }: { key: string; index: number }): number | null {
  if (index < rows.count && rows.keyAt(index) === key) return index;
  for (let at = rows.count - 1; at >= 0; at -= 1) if (rows.keyAt(at) === key) return at;
  return null;
}

/** The last row that is in sight in whole or in part: where the eye is after reading. */
const middleRow = ({ range }: Virtualizer<HTMLElement, Element>): number => range?.endIndex ?? 0;

/** Gives the box the focus when it opens, unless somebody has it already: its keys work at once. */
export function useFocusOnOpen(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const { activeElement } = document;
    const isFree = activeElement === null || activeElement === document.body || activeElement.id === 'main';
    if (isFree) box.current?.focus({ preventScroll: true });
  }, [box]);
}
