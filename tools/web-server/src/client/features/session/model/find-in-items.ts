import type { TranscriptEntry } from '@callboard/contract';
import { toolText } from '../../../lib/tool-words.ts';
import { inputOf, type ToolItem, type TranscriptItem } from './transcript-items.ts';

/** An entry in which a text was found. */
export interface Found {
  /** The place of its row. */
  row: number;
  /** What has to be opened to see it, from the outside in. */
  open: readonly string[];
}

/** Finds a text in a transcript, whatever its case, also in what is folded. In the order of the transcript. */
export function findInItems(items: readonly TranscriptItem[], text: string): Found[] {
  const wanted = text.trim();
  if (wanted === '') return [];
  const pattern = new RegExp(wanted.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
  return items.flatMap((item, row) => foundIn(item, pattern).map((open) => ({ row, open })));
}

/** For each match in an item: what has to be opened. */
function foundIn(item: TranscriptItem, pattern: RegExp): string[][] {
  switch (item.kind) {
    case 'entry':
      return pattern.test(textOf(item.entry)) ? [openKeysOf(item.entry)] : [];
    case 'lookups': {
      const key = lookupsKey(item.tools);
      return item.tools.flatMap((tool) => foundInTool(tool, pattern).map((open) => [key, ...open]));
    }
    case 'tool':
      return foundInTool(item, pattern);
    case 'steps':
      return item.children.flatMap((child) => foundIn(child, pattern).map((open) => [item.toolUseId, ...open]));
    case 'taken-back':
      return [];
    default:
      return item satisfies never;
  }
}

function foundInTool(tool: ToolItem, pattern: RegExp): string[][] {
  const { use, result, decisions, changed, children } = tool;
  const { verb, object } = toolText(use.toolName, inputOf(tool));
  const inLine = pattern.test(`${verb} ${object}`);
  const inBody = !inLine && (anyText([use.input, changed], pattern) || (result !== null && pattern.test(result.text)));
  const inDecision = decisions.some(({ reason, answers }) => pattern.test(reason ?? '') || anyText(answers, pattern));
  const own = inLine || inDecision ? [[]] : inBody ? [[use.toolUseId]] : [];
  const inner = children.flatMap((child) => foundIn(child, pattern).map((open) => [use.toolUseId, ...open]));
  return [...own, ...inner];
}

/** Finds where an entry stands; null if it is not among these items. */
export function positionOfEntry(items: readonly TranscriptItem[], entry: TranscriptEntry): Found | null {
  for (const [row, item] of items.entries()) {
    const open = wayTo(item, entry);
    if (open !== null) return { row, open };
  }
  return null;
}

/** What has to be opened in an item to see the entry; null if it is not there. */
function wayTo(item: TranscriptItem, entry: TranscriptEntry): string[] | null {
  switch (item.kind) {
    case 'entry':
      return item.entry.index === entry.index ? openKeysOf(item.entry) : null;
    case 'lookups':
      return within(lookupsKey(item.tools), item.tools, entry);
    case 'tool':
      return wayToTool(item, entry) ?? within(item.use.toolUseId, item.children, entry);
    case 'steps':
      return within(item.toolUseId, item.children, entry);
    case 'taken-back':
      return null;
    default:
      return item satisfies never;
  }
}

function within(key: string, children: readonly TranscriptItem[], entry: TranscriptEntry): string[] | null {
  const [way] = children.flatMap((child) => {
    const inner = wayTo(child, entry);
    return inner === null ? [] : [inner];
  });
  return way === undefined ? null : [key, ...way];
}

function wayToTool({ use, result, decisions }: ToolItem, entry: TranscriptEntry): string[] | null {
  if (entry.kind === 'notice' && entry.changedCall?.toolUseId === use.toolUseId) return [use.toolUseId];
  if (entry.index === use.index || entry.index === result?.index) return [use.toolUseId];
  const isItsDecision =
    entry.kind === 'decision' && decisions.some(({ requestId }) => requestId === entry.decision.requestId);
  return isItsDecision ? [] : null;
}

/** The key under which a line of several look-ups remembers whether it is open. */
export const lookupsKey = (tools: readonly ToolItem[]): string => `lookups:${tools[0]?.use.toolUseId}`;

function openKeysOf(entry: TranscriptEntry): string[] {
  return entry.kind === 'thinking' ? [`block:${entry.blockId}`] : [];
}

function textOf(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case 'user':
    case 'text':
    case 'thinking':
    case 'tool-result':
    case 'notice':
      return entry.text;
    case 'turn-end':
      return entry.message ?? '';
    case 'decision':
      return `${entry.decision.asked} ${entry.decision.reason ?? ''}`;
    default:
      return '';
  }
}

function anyText(value: unknown, pattern: RegExp): boolean {
  if (typeof value === 'string') return pattern.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((one) => anyText(one, pattern));
}

/** Every key under which something in these items may be open. */
export function foldKeys(items: readonly TranscriptItem[]): string[] {
  return items.flatMap((item) => {
    switch (item.kind) {
      case 'entry':
        return openKeysOf(item.entry);
      case 'lookups':
        return [lookupsKey(item.tools), ...item.tools.flatMap(keysOfTool)];
      case 'tool':
        return keysOfTool(item);
      case 'steps':
        return [item.toolUseId, ...foldKeys(item.children)];
      case 'taken-back':
        return [];
      default:
        return item satisfies never;
    }
  });
}

const keysOfTool = ({ use, decisions, children }: ToolItem): string[] => [
  use.toolUseId,
  ...decisions.map(({ requestId }) => `decision:${requestId}`),
  ...foldKeys(children),
];
