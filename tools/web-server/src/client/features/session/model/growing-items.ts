import type { TranscriptEntry } from '@callboard/contract';
import { itemKey, type TranscriptItem, transcriptItems } from './transcript-items.ts';

/** The items of a transcript that grows at its end. */
export interface GrowingItems {
  entries: readonly TranscriptEntry[];
  items: readonly TranscriptItem[];
  /** The items' keys, made unique. */
  keys: readonly string[];
  settled: Settled;
}

/** The beginning of the transcript, to which nothing is added any more; its items stay the same objects. */
interface Settled {
  /** How many entries it has. */
  length: number;
  items: readonly TranscriptItem[];
  keys: readonly string[];
  /** The calls that are in it, or that something in it belongs to. */
  toolUseIds: ReadonlySet<string>;
}

const NOTHING: Settled = { length: 0, items: [], keys: [], toolUseIds: new Set() };

/** The beginning is settled anew once this many entries follow it. */
const SETTLE_AFTER = 200;

/** Groups entries into items. Of what `before` grouped already, only the newest turns are looked at again. */
export function growItems(entries: readonly TranscriptEntry[], before: GrowingItems | null = null): GrowingItems {
  const settled = before !== null && isUnchanged(entries, before) ? before.settled : NOTHING;
  const known = settle(entries, settled) ?? settled;
  return grownFrom(entries, known) ?? grownFrom(entries, NOTHING) ?? { entries, items: [], keys: [], settled: NOTHING };
}

const isUnchanged = (entries: readonly TranscriptEntry[], { entries: old, settled }: GrowingItems): boolean => {
  for (let index = 0; index < settled.length; index += 1) if (entries[index] !== old[index]) return false;
  return true;
};

/** Null if an entry belongs to a call in the settled part. */
function grownFrom(entries: readonly TranscriptEntry[], from: Settled): GrowingItems | null {
  const rest = entries.slice(from.length);
  if (rest.some((entry) => from.toolUseIds.has(callOf(entry) ?? ''))) return null;
  const items = transcriptItems(rest);
  const keys = uniqueKeys(items, from.keys);
  return { entries, items: [...from.items, ...items], keys: [...from.keys, ...keys], settled: from };
}

/** Settles what ends with a turn and has no open call; null if nothing can be settled, or too little. */
function settle(entries: readonly TranscriptEntry[], settled: Settled): Settled | null {
  if (entries.length - settled.length < SETTLE_AFTER) return null;
  const length = entries.findLastIndex((entry) => entry.kind === 'turn-end' && entry.parentToolUseId === null) + 1;
  if (length <= settled.length) return null;
  const part = entries.slice(settled.length, length);
  if (part.some((entry) => settled.toolUseIds.has(callOf(entry) ?? ''))) return null;
  const items = transcriptItems(part);
  if (!items.every(isSettled)) return null;
  const ids = part.flatMap((entry) => (entry.kind === 'tool-use' ? [entry.toolUseId] : [callOf(entry)]));
  return {
    length,
    items: [...settled.items, ...items],
    keys: [...settled.keys, ...uniqueKeys(items, settled.keys)],
    toolUseIds: new Set([...settled.toolUseIds, ...ids.filter((id) => id !== null)]),
  };
}

/** The call that an entry belongs to; null if it stands alone. */
function callOf(entry: TranscriptEntry): string | null {
  if (entry.parentToolUseId !== null) return entry.parentToolUseId;
  if (entry.kind === 'tool-result') return entry.toolUseId;
  if (entry.kind === 'notice') return entry.changedCall?.toolUseId ?? null;
  return entry.kind === 'decision' ? entry.decision.toolUseId : null;
}

function isSettled(item: TranscriptItem): boolean {
  if (!('children' in item)) return true;
  if (item.kind === 'tool' && item.result === null && !item.isCutOff) return false;
  return item.children.every(isSettled);
}

function uniqueKeys(items: readonly TranscriptItem[], before: readonly string[]): string[] {
  const taken = new Set(before);
  return items.map((item) => {
    let key = itemKey(item);
    while (taken.has(key)) key += "'";
    taken.add(key);
    return key;
  });
}
