import type { TranscriptEntry } from '@callboard/contract';
import { useEffect, useEffectEvent, useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { positionOfEntry } from '../model/find-in-items.ts';
import type { GrowingItems } from '../model/growing-items.ts';
import type { Target } from '../model/row-list.ts';
import { useSessionUi } from '../model/session-ui.ts';

export interface JumpToEntry {
  /** The row to show; null if the address names no entry. */
  target: Target | null;
  /** The text to mark there. */
  marked: string | null;
}

/** Shows the entry that the address names (`?entry=12&mark=words`), also one that is not loaded yet or folded away. */
export function useJumpToEntry(
  { entries, items }: GrowingItems,
  earlier: { left: number; failed: boolean; loadAll: () => void },
): JumpToEntry {
  const [params] = useSearchParams();
  const { key } = useLocation();
  const wanted = Number(params.get('entry') ?? Number.NaN);
  const [target, setTarget] = useState<Target | null>(null);
  /** The address that was followed last: what comes later must not scroll away from where the reader is by then. */
  const [followed, setFollowed] = useState<string | null>(null);
  const isDue = Number.isInteger(wanted) && followed !== key && entries.length > 0;
  const isMissing = isDue && earlier.left >= wanted;

  const loadRest = useEffectEvent(() => {
    if (!earlier.failed) earlier.loadAll();
  });
  useEffect(() => {
    if (isMissing) loadRest();
  }, [isMissing]);

  const show = useEffectEvent(() => {
    const entry = entries.find((one: TranscriptEntry) => one.index === wanted);
    const place = entry === undefined ? null : positionOfEntry(items, entry);
    setFollowed(key);
    if (place === null) return;
    for (const name of place.open) useSessionUi.getState().setOpen(name, true);
    setTarget({ index: place.row });
  });
  const isThere = isDue && !isMissing;
  useEffect(() => {
    if (isThere) show();
  }, [isThere]);

  return { target: Number.isInteger(wanted) ? target : null, marked: params.get('mark') };
}
