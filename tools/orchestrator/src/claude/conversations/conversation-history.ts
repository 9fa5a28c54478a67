import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { NewTranscriptEntry } from '@callboard/contract';
import { z } from 'zod';
import { truncate, truncateStrings } from '../../lib/truncate.ts';
import { conversationFile } from '../conversation-file.ts';
import { parseRecordLine, type RecordLine, saidIn, textOf } from './record-lines.ts';

/** What was said in a conversation, as a person reads it. */
export interface ConversationHistory {
  /** Oldest first. */
  entries: { at: string; entry: NewTranscriptEntry }[];
  /** How many entries before the first one are left out. */
  leftOut: number;
  /** The uuid of the last line: a copy that ends there knows exactly this. */
  lastLine: string;
}

/** How many entries are kept; Claude itself knows all of them. */
const MAX_ENTRIES = 2_000;
const MAX_TEXT_LENGTH = 50_000;
const MAX_RESULT_LENGTH = 10_000;

/**
 * Reads what was said in a conversation: the branch of the record that a resume follows. The record is only read.
 * @returns null if nothing was said
 * @throws a system error if the record cannot be read
 */
export async function conversationHistory(file: string, signal?: AbortSignal): Promise<ConversationHistory | null> {
  const lines = new Map<string, Saved>();
  let last: string | null = null;
  const input = createReadStream(file, { signal });
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = parseRecordLine(text);
    if (line === null || line.isSidechain === true) continue;
    const entries = entriesOf(line);
    lines.set(line.uuid, { parent: line.parentUuid ?? line.logicalParentUuid ?? null, at: line.timestamp, entries });
    if (line.type === 'user' || line.type === 'assistant') last = line.uuid;
  }
  if (last === null) return null;
  const entries = chainTo(last, lines);
  const saved = entries.slice(-MAX_ENTRIES);
  return { entries: saved, leftOut: entries.length - saved.length, lastLine: last };
}

/**
 * Returns what was said in a conversation after a moment, oldest first; null if Claude Code has no record of it, or more than one.
 * @param env the environment that Claude Code gets
 * @throws a system error if the record cannot be read
 */
export async function saidAfter(
  env: Readonly<Record<string, string>>,
  conversationId: string,
  after: string,
): Promise<{ entries: ConversationHistory['entries']; isCut: boolean } | null> {
  const file = await conversationFile(env, conversationId);
  if (file === null) return null;
  const { entries, leftOut } = (await conversationHistory(file)) ?? { entries: [], leftOut: 0 };
  const known = entries.findLastIndex(({ at }) => at <= after);
  return { entries: entries.slice(known + 1), isCut: known === -1 && leftOut > 0 };
}

interface Saved {
  parent: string | null;
  at: string | undefined;
  entries: NewTranscriptEntry[];
}

/** Follows the parents from the last line to the first. A record that names a line twice must not hold it up for ever. */
function chainTo(last: string, lines: ReadonlyMap<string, Saved>): ConversationHistory['entries'] {
  const chain: Saved[] = [];
  const seen = new Set<string>();
  for (let id: string | null = last; id !== null && !seen.has(id); ) {
    seen.add(id);
    const line = lines.get(id);
    if (line === undefined) break;
    chain.push(line);
    id = line.parent;
  }
  let at = chain.findLast((line) => line.at !== undefined)?.at ?? new Date(0).toISOString();
  return chain.reverse().flatMap((line) => {
    at = line.at ?? at;
    return line.entries.map((entry) => ({ at, entry }));
  });
}

const main = { parentToolUseId: null } as const;
const notice = (code: 'compacted' | 'informational', text: string): NewTranscriptEntry => ({
  ...main,
  kind: 'notice',
  level: 'info',
  code,
  text: truncate(text, MAX_RESULT_LENGTH),
});

function entriesOf(line: RecordLine): NewTranscriptEntry[] {
  if (line.message === undefined || line.isMeta === true) return [];
  if (line.isCompactSummary === true)
    return [notice('compacted', 'Claude Code compacted the conversation: Claude knows a summary of what is above.')];
  if (line.type === 'assistant') return answerOf(line.uuid, line.message);
  if (line.type !== 'user') return [];
  const results = typeof line.message.content === 'string' ? [] : line.message.content.flatMap(resultOf);
  const said = saidIn(line);
  if (said === null) return results;
  if (!said.isPerson) return [...results, notice('informational', said.text)];
  return [
    ...results,
    {
      ...main,
      kind: 'user',
      text: truncate(said.text, MAX_TEXT_LENGTH),
      messageId: null,
      by: 'Terminal',
      attachments: [],
    },
  ];
}

const Text = z.object({ type: z.literal('text'), text: z.string() });
const Thought = z.object({ type: z.literal('thinking'), thinking: z.string() });
const Call = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
});
const Result = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  is_error: z.boolean().nullish(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
});

function answerOf(uuid: string, { id = uuid, content }: NonNullable<RecordLine['message']>): NewTranscriptEntry[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return blocks.flatMap((block): NewTranscriptEntry[] => {
    // Each line holds one block, so its uuid tells the blocks of a message apart.
    const blockId = `${id}:${uuid}`;
    const text = Text.safeParse(block).data?.text.trim();
    if (text !== undefined)
      return text === '' ? [] : [{ ...main, kind: 'text', text: truncate(text, MAX_TEXT_LENGTH), blockId }];
    const thought = Thought.safeParse(block).data?.thinking.trim();
    if (thought !== undefined)
      return thought === '' ? [] : [{ ...main, kind: 'thinking', text: truncate(thought, MAX_TEXT_LENGTH), blockId }];
    const call = Call.safeParse(block).data;
    if (call === undefined) return [];
    const input = truncateStrings(call.input, MAX_RESULT_LENGTH);
    return [{ ...main, kind: 'tool-use', toolUseId: call.id, toolName: call.name, input }];
  });
}

function resultOf(block: unknown): NewTranscriptEntry[] {
  const result = Result.safeParse(block).data;
  if (result === undefined) return [];
  const text = truncate(textOf(result.content ?? ''), MAX_RESULT_LENGTH);
  const isError = result.is_error === true;
  return [
    {
      ...main,
      kind: 'tool-result',
      toolUseId: result.tool_use_id,
      isError,
      text,
      allowedBy: null,
      sandboxFailure: null,
    },
  ];
}
