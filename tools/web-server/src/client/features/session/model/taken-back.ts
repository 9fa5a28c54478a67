import type { RewindRecord } from '@callboard/contract';
import type { GrowingItems } from './growing-items.ts';
import { itemKey, type TranscriptItem } from './transcript-items.ts';

type Items = Pick<GrowingItems, 'items' | 'keys'>;

/** The key under which the line of what was taken back remembers whether it is open. */
export const rewoundKey = ({ id }: RewindRecord): string => `taken-back:${id}`;

/**
 * The going back that took an entry back; null if it still counts. Of one within another the outer one, which is the later one:
 * nobody goes back to a message that was taken back.
 */
export const rewoundBy = (rewinds: readonly RewindRecord[], index: number): RewindRecord | null =>
  rewinds.findLast(({ conversation, from, to }) => conversation && from <= index && index <= to) ?? null;

/** Folds what was taken back into one line for each time, followed by the items themselves where it is open. */
export function foldRewound<T extends Items>(
  grown: T,
  rewinds: readonly RewindRecord[],
  isOpen: (one: RewindRecord) => boolean,
): T {
  if (!rewinds.some(({ conversation }) => conversation)) return grown;
  const items: TranscriptItem[] = [];
  const keys: string[] = [];
  const add = (item: TranscriptItem, key: string) => {
    items.push(item);
    keys.push(key);
  };
  let last: RewindRecord | null = null;
  for (const [at, item] of grown.items.entries()) {
    const by = rewoundBy(rewinds, locationOf(item));
    if (by !== null && by !== last) {
      const line: TranscriptItem = { kind: 'taken-back', goneBack: by };
      add(line, itemKey(line));
    }
    if (by === null || isOpen(by)) add(item, grown.keys[at] ?? itemKey(item));
    last = by;
  }
  return { ...grown, items, keys };
}

/** The index of an item's first entry. */
export function locationOf(item: TranscriptItem): number {
  switch (item.kind) {
    case 'entry':
      return item.entry.index;
    case 'tool':
      return item.use.index;
    case 'lookups':
      return item.tools[0]?.use.index ?? 0;
    case 'steps':
      return item.children[0] === undefined ? 0 : locationOf(item.children[0]);
    case 'taken-back':
      return item.goneBack.from;
    default:
      return item satisfies never;
  }
}
