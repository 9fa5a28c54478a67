import type { StageId } from '@callboard/contract';
import { useDeferredValue, useEffect, useEffectEvent, useMemo, useState } from 'react';
import { type Found, findInItems } from '../model/find-in-items.ts';
import type { GrowingItems } from '../model/growing-items.ts';
import type { Target } from '../model/row-list.ts';
import { useSessionUi } from '../model/session-ui.ts';
import { useTranscriptFind } from '../model/transcript-find.ts';

/** The search in a stage's transcript, and how to move in it. */
export interface Find {
  isOpen: boolean;
  text: string;
  /** How many entries were found in what is loaded. */
  count: number;
  /** The number of the one that is shown, from 1 on; 0 if none is. */
  at: number;
  /** Whether entries are still being loaded, in which more may be found. */
  isLoading: boolean;
  /** The row to show. */
  target: Target | null;
  move: (by: 1 | -1) => void;
}

/** Searches the whole transcript: what is not loaded yet is loaded while the search is open. */
export function useFind(
  stageId: StageId,
  { items, keys }: GrowingItems,
  earlier: { left: number; isLoading: boolean; failed: boolean; loadAll: () => void },
): Find {
  const open = useTranscriptFind((state) => (state.open?.stageId === stageId ? state.open : null));
  const text = open?.text ?? '';
  const wanted = useDeferredValue(text);
  const isOpen = open !== null;
  const found = useMemo(() => (isOpen ? findInItems(items, wanted) : []), [isOpen, items, wanted]);
  /** The one that is shown: the row's key, since rows are added before it, and its place among those of the row. */
  const [shown, setShown] = useState<{ key: string; nth: number } | null>(null);
  const [target, setTarget] = useState<Target | null>(null);
  const at = shown === null ? -1 : locationOf(found, keys, shown);

  const show = (place: number) => {
    const one = found[place];
    if (one === undefined) return;
    const { setOpen } = useSessionUi.getState();
    for (const key of one.open) setOpen(key, true);
    const key = keys[one.row] ?? '';
    setShown({ key, nth: found.slice(0, place).filter(({ row }) => row === one.row).length });
    setTarget({ index: one.row });
  };
  const loadRest = useEffectEvent(() => {
    if (earlier.left > 0 && !earlier.failed) earlier.loadAll();
  });
  useEffect(() => {
    if (isOpen && wanted !== '') loadRest();
  }, [isOpen, wanted]);
  // The newest one first: a transcript is read from its end.
  const showNewest = useEffectEvent(() => show(found.length - 1));
  const isFound = found.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is another search
  useEffect(() => {
    setShown(null);
    if (isFound) showNewest();
  }, [wanted, isFound]);

  return {
    isOpen,
    text,
    count: found.length,
    at: at + 1,
    isLoading: isOpen && wanted !== '' && earlier.left > 0 && !earlier.failed,
    target: isOpen ? target : null,
    move: (by) => show(at === -1 ? found.length - 1 : (at + by + found.length) % found.length),
  };
}

function locationOf(
  found: readonly Found[],
  keys: readonly string[],
  { key, nth }: { key: string; nth: number },
): number {
  const first = found.findIndex(({ row }) => keys[row] === key);
  return first === -1 ? -1 : first + nth;
}
