import type { TranscriptEntry } from '@callboard/contract';
import type { ConversationTail } from '../../claude/conversation-file.ts';

/**
 * The first entry that the transcript shows as Claude's and that Claude Code's own record does not have; null where all is as
 * it should be, or where nothing can be said: a record in which nothing is found is one that is not understood.
 */
export function firstForged(entries: readonly TranscriptEntry[], tail: ConversationTail): TranscriptEntry | null {
  const said = entries.filter((entry) => isOwn(entry));
  const firstFound = said.findIndex((entry) => isFound(entry, tail));
  if (firstFound === -1) return null;
  return said.slice(tail.isWhole ? 0 : firstFound).find((entry) => !isFound(entry, tail)) ?? null;
}

/** Of the main conversation; what a subagent says is kept elsewhere. */
const isOwn = ({ kind, parentToolUseId }: TranscriptEntry): boolean =>
  parentToolUseId === null && (kind === 'text' || kind === 'tool-use');

function isFound(entry: TranscriptEntry, { texts, toolUseIds }: ConversationTail): boolean {
  if (entry.kind === 'tool-use') return toolUseIds.has(entry.toolUseId);
  if (entry.kind !== 'text') return true;
  const known = texts.get(entry.blockId.slice(0, entry.blockId.lastIndexOf(':')));
  if (known === undefined) return false;
  // A long text is kept shortened.
  return entry.text.length > LONG || known.has(entry.text);
}

const LONG = 1_000_000;
