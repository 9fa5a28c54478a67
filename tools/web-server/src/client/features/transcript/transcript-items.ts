import type { ChangedCall, Decision, RewindRecord, ToolInput, TranscriptEntry } from '@callboard/contract';
import type { ReactNode } from 'react';

type Entry<K extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { kind: K }>;

/** A tool call with everything that belongs to it. */
export interface ToolItem {
  kind: 'tool';
  use: Entry<'tool-use'>;
  result: Entry<'tool-result'> | null;
  /** Whether its turn or its process ended before a result. */
  isCutOff: boolean;
  decisions: Decision[];
  /** What a hook made of the call; null if it is as Claude wrote it. */
  changed: ChangedCall | null;
  /** The calls of the same conversation without a result when this one began: earlier calls of the same message. */
  before: readonly ToolItem[];
  /** The steps of the subagent this call started. */
  children: TranscriptItem[];
}

/** One item of the transcript, as a person reads it. */
export type TranscriptItem =
  | ToolItem
  /** Several consecutive read-only calls, shown on one line. */
  | { kind: 'lookups'; tools: ToolItem[] }
  /** The steps of a subagent whose call is not loaded. */
  | { kind: 'steps'; toolUseId: string; children: TranscriptItem[] }
  | { kind: 'entry'; entry: Exclude<TranscriptEntry, Entry<'tool-use'>> }
  /** The line above what was taken back when a person went back. */
  | { kind: 'taken-back'; goneBack: RewindRecord };

/** The input that ran, or would run: Claude's, or that of the hook that changed it last. */
export const inputOf = ({ use, changed }: ToolItem): ToolInput => changed?.input ?? use.input;

type Steps = Extract<TranscriptItem, { kind: 'steps' }>;

/** Groups entries: tool calls with results and decisions, subagent steps under their call, consecutive lookups. */
export function transcriptItems(entries: readonly TranscriptEntry[]): TranscriptItem[] {
  const tools = new Map<string, ToolItem>();
  const strays = new Map<string, Steps>();
  const top: TranscriptItem[] = [];
  const open = new Set<ToolItem>();
  for (const entry of entries) {
    if (attach(entry, tools, open)) continue;
    markCutOff(entry, open);
    const item = toItem(entry, open);
    if (item.kind === 'tool') {
      tools.set(item.use.toolUseId, item);
      open.add(item);
    }
    listOf(entry.parentToolUseId, { tools, strays, top }).push(item);
  }
  return foldLookups(top);
}

interface Locations {
  tools: ReadonlyMap<string, ToolItem>;
  strays: Map<string, Steps>;
  top: TranscriptItem[];
}

function listOf(parent: string | null, { tools, strays, top }: Locations): TranscriptItem[] {
  if (parent === null) return top;
  const known = tools.get(parent) ?? strays.get(parent);
  if (known !== undefined) return known.children;
  const steps: Steps = { kind: 'steps', toolUseId: parent, children: [] };
  strays.set(parent, steps);
  top.push(steps);
  return steps.children;
}

function attach(entry: TranscriptEntry, tools: ReadonlyMap<string, ToolItem>, open: Set<ToolItem>): boolean {
  if (entry.kind === 'tool-result') {
    const tool = tools.get(entry.toolUseId);
    if (tool === undefined) return false;
    tool.result = entry;
    open.delete(tool);
    return true;
  }
  if (entry.kind === 'decision') {
    const tool = tools.get(entry.decision.toolUseId);
    tool?.decisions.push(entry.decision);
    return tool !== undefined;
  }
  if (entry.kind === 'notice' && entry.changedCall !== undefined) {
    const tool = tools.get(entry.changedCall.toolUseId);
    if (tool === undefined) return false;
    tool.changed = entry.changedCall;
    return true;
  }
  return false;
}

/** The end of the process cuts off every call; the end of a turn only the main conversation's, as subagents may continue. */
function markCutOff(entry: TranscriptEntry, open: Set<ToolItem>): void {
  const isProcess = entry.kind === 'notice' && entry.code === 'process-ended';
  if (!isProcess && entry.kind !== 'turn-end') return;
  for (const tool of open) {
    if (!isProcess && tool.use.parentToolUseId !== null) continue;
    tool.isCutOff = true;
    open.delete(tool);
  }
}

function toItem(entry: TranscriptEntry, open: ReadonlySet<ToolItem>): TranscriptItem {
  if (entry.kind !== 'tool-use') return { kind: 'entry', entry };
  const before = [...open].filter((one) => one.use.parentToolUseId === entry.parentToolUseId);
  return {
    kind: 'tool',
    use: entry,
    result: null,
    isCutOff: false,
    decisions: [],
    changed: null,
    before,
    children: [],
  };
}

const LOOKUP_TOOLS = ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead', 'ToolSearch'];
const FOLD_FROM = 2;

const isQuietLookup = (item: TranscriptItem): item is ToolItem =>
  item.kind === 'tool' &&
  LOOKUP_TOOLS.includes(item.use.toolName) &&
  item.decisions.length === 0 &&
  item.changed === null &&
  item.result !== null &&
  !item.result.isError;

function foldLookups(items: readonly TranscriptItem[]): TranscriptItem[] {
  const folded: TranscriptItem[] = [];
  let run: ToolItem[] = [];
  const flush = () => {
    folded.push(...(run.length >= FOLD_FROM ? [{ kind: 'lookups' as const, tools: run }] : run));
    run = [];
  };
  for (const item of items) {
    if (isQuietLookup(item)) {
      run.push(item);
      continue;
    }
    flush();
    if ('children' in item && item.children.length > 0) item.children = foldLookups(item.children);
    folded.push(item);
  }
  flush();
  return folded;
}

/** How many tools were called in these items, including nested ones. */
export function countSteps(items: readonly TranscriptItem[]): number {
  return items.reduce((sum, item) => sum + stepsIn(item), 0);
}

function stepsIn(item: TranscriptItem): number {
  if (item.kind === 'lookups') return item.tools.length;
  if (item.kind === 'tool') return 1 + countSteps(item.children);
  return item.kind === 'steps' ? countSteps(item.children) : 0;
}

/** Whether the item contains one of these calls, also nested. */
export function pausesOne(item: TranscriptItem, toolUseIds: ReadonlySet<string>): boolean {
  if (toolUseIds.size === 0 || !('children' in item)) return false;
  if (item.kind === 'tool' && toolUseIds.has(item.use.toolUseId)) return true;
  return item.children.some((child) => pausesOne(child, toolUseIds));
}

/**
 * A key that stays the same when entries are added before or after the item: a call takes over the key of its result
 * that was there alone, and a stored text that of its streaming block.
 */
export function itemKey(item: TranscriptItem): string {
  switch (item.kind) {
    case 'tool':
      return toolKey(item.use.toolUseId);
    case 'lookups':
      return toolKey(item.tools.at(-1)?.use.toolUseId ?? '');
    case 'steps':
      return toolKey(item.toolUseId);
    case 'entry':
      return entryKey(item.entry);
    case 'taken-back':
      return `taken-back:${item.goneBack.id}`;
    default:
      return item satisfies never;
  }
}

const toolKey = (toolUseId: string) => `tool:${toolUseId}`;
export const blockKey = (blockId: string) => `block:${blockId}`;

function entryKey(entry: TranscriptEntry): string {
  if (entry.kind === 'tool-result') return toolKey(entry.toolUseId);
  return 'blockId' in entry ? blockKey(entry.blockId) : `entry:${entry.index}`;
}

/** The items' keys, made unique. */
export function itemKeys(items: readonly TranscriptItem[]): string[] {
  const taken = new Set<string>();
  return items.map((item) => {
    let key = itemKey(item);
    while (taken.has(key)) key += "'";
    taken.add(key);
    return key;
  });
}

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

/** The rows of a list. It is a new object whenever a row is added, removed or made anew. */
export interface RowList {
  count: number;
  /** Stays with what it names when rows are added before or after it. */
  keyAt: (index: number) => string;
  render: (index: number) => ReactNode;
  /** The rows that stay in the page while they are out of sight, in ascending order: somebody may be writing in them. */
  kept: readonly number[];
}

/** A row to show; another object shows it again. */
export interface Target {
  index: number;
}
