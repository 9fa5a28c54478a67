import type { ChangedCall, Decision, RewindRecord, ToolInput, TranscriptEntry } from '@callboard/contract';

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
