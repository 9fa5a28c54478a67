import type { Decision, TranscriptEntry } from '@callboard/contract';

type Entry<K extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { kind: K }>;

/** A tool call with all that belongs to it. */
export interface ToolItem {
  kind: 'tool';
  use: Entry<'tool-use'>;
  result: Entry<'tool-result'> | null;
  decisions: Decision[];
  /** What the subagent did that this call started. */
  children: TranscriptItem[];
}

/** What a person reads as one thing. */
export type TranscriptItem =
  | ToolItem
  /** Several calls in a row that only looked: one line for all. */
  | { kind: 'looks'; tools: ToolItem[] }
  | { kind: 'entry'; entry: Exclude<TranscriptEntry, Entry<'tool-use'>> };

/** Tool calls with their results and decisions, subagents under their call, looks in a row as one. */
export function transcriptItems(entries: readonly TranscriptEntry[]): TranscriptItem[] {
  const tools = new Map<string, ToolItem>();
  const top: TranscriptItem[] = [];
  for (const entry of entries) {
    if (attach(entry, tools)) continue;
    const parent = entry.parentToolUseId === null ? undefined : tools.get(entry.parentToolUseId);
    (parent?.children ?? top).push(toItem(entry, tools));
  }
  return foldLooks(top);
}

function attach(entry: TranscriptEntry, tools: ReadonlyMap<string, ToolItem>): boolean {
  if (entry.kind === 'tool-result') {
    const tool = tools.get(entry.toolUseId);
    if (tool !== undefined) tool.result = entry;
    return tool !== undefined;
  }
  if (entry.kind === 'decision') {
    const tool = tools.get(entry.decision.toolUseId);
    tool?.decisions.push(entry.decision);
    return tool !== undefined;
  }
  return false;
}

function toItem(entry: TranscriptEntry, tools: Map<string, ToolItem>): TranscriptItem {
  if (entry.kind !== 'tool-use') return { kind: 'entry', entry };
  const tool: ToolItem = { kind: 'tool', use: entry, result: null, decisions: [], children: [] };
  tools.set(entry.toolUseId, tool);
  return tool;
}

const LOOKS = ['Read', 'Glob', 'Grep', 'LS'];
const FOLD_FROM = 3;

const isQuietLook = (item: TranscriptItem): item is ToolItem =>
  item.kind === 'tool' &&
  LOOKS.includes(item.use.toolName) &&
  item.decisions.length === 0 &&
  item.result !== null &&
  !item.result.isError;

function foldLooks(items: readonly TranscriptItem[]): TranscriptItem[] {
  const folded: TranscriptItem[] = [];
  let run: ToolItem[] = [];
  const flush = () => {
    folded.push(...(run.length >= FOLD_FROM ? [{ kind: 'looks' as const, tools: run }] : run));
    run = [];
  };
  for (const item of items) {
    if (isQuietLook(item)) run.push(item);
    else {
      flush();
      folded.push(item);
    }
  }
  flush();
  return folded;
}

/** A key that an item keeps for life. */
export function itemKey(item: TranscriptItem): number {
  if (item.kind === 'tool') return item.use.index;
  return item.kind === 'looks' ? (item.tools[0]?.use.index ?? 0) : item.entry.index;
}

/** The blocks that are stored: text that streamed as one of them is not shown twice. */
export const storedBlocks = (entries: readonly TranscriptEntry[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => ('blockId' in entry ? [entry.blockId] : [])));

/** The tool calls that can be seen. */
export const toolUseIds = (entries: readonly TranscriptEntry[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => (entry.kind === 'tool-use' ? [entry.toolUseId] : [])));
