import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NewTranscriptEntry } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { conversationFile } from '../../core/claude/conversation-file.ts';
import { configFolder } from '../../core/claude/launch-options.ts';
import { parseJson, truncate, truncateStrings } from '../../lib/text.ts';

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

/** The lines of Claude Code's own record of a conversation that tell what was said (seen with 2.1.330). */

const Block = z.looseObject({ type: z.string() });

const Line = z.object({
  type: z.string(),
  uuid: z.string(),
  parentUuid: z.string().nullish(),
  /** At a compaction the chain of parents begins again; this is the line before it. */
  logicalParentUuid: z.string().nullish(),
  isSidechain: z.boolean().nullish(),
  isMeta: z.boolean().nullish(),
  isCompactSummary: z.boolean().nullish(),
  subtype: z.string().nullish(),
  timestamp: z.iso.datetime().optional().catch(undefined),
  cwd: z.string().optional().catch(undefined),
  gitBranch: z.string().optional().catch(undefined),
  message: z
    .object({ id: z.string().optional(), content: z.union([z.string(), z.array(Block)]) })
    .optional()
    .catch(undefined),
});
export type RecordLine = z.infer<typeof Line>;

/** Lines of the tree of messages begin like this; all others are bookkeeping, and some of those are very long. */
const IN_TREE = '{"parentUuid":';

/** A longer line (pictures, whole files) is not parsed: its place in the tree is read from its text. */
const MAX_PARSED_LENGTH = 1024 * 1024;

/** Returns a line of the tree of messages; null for any other, and for one that was cut off. */
function parseRecordLine(text: string): RecordLine | null {
  if (!text.startsWith(IN_TREE)) return null;
  if (text.length > MAX_PARSED_LENGTH) return locationOf(text);
  return Line.safeParse(parseJson(text)).data ?? null;
}

/** What a text shows where Callboard left something out. */
const TOO_LONG = '[too long to be shown]';

function locationOf(text: string): RecordLine | null {
  const parent = /^\{"parentUuid":(?:"([0-9a-f-]{36})"|null)/.exec(text);
  const uuid = text.slice(-MAX_PARSED_LENGTH / 4).match(/.*"uuid":"([0-9a-f-]{36})"/s)?.[1];
  const type = /"type":"(user|assistant)"/.exec(text.slice(0, 1_000))?.[1];
  if (parent === null || uuid === undefined) return null;
  const line = { type: type ?? 'attachment', uuid, parentUuid: parent[1] ?? null };
  return type === undefined ? line : { ...line, message: { content: TOO_LONG } };
}

/** Tags in which Claude Code wraps what a person did in a terminal. */
const WRAPPED = [
  [/^<bash-input>([\s\S]*?)<\/bash-input>\s*$/, (command: string) => `! ${command}`],
  [
    /^\s*<command-message>[\s\S]*?<\/command-message>\s*<command-name>([\s\S]*?)<\/command-name>/,
    (name: string) => name,
  ],
  [/^\s*<command-name>([\s\S]*?)<\/command-name>/, (name: string) => name],
] as const;
const PRINTED = /^\s*<(?:bash-stdout|bash-stderr|local-command-stdout|local-command-stderr|local-command-caveat)>/;

/** What a user line says: a person's words, or what a command in the terminal printed. */
export interface Said {
  text: string;
  isPerson: boolean;
  /** It runs something in the terminal; it is no message to Claude. */
  isCommand: boolean;
}

/** Returns what a person said in a line; null if the line is something else, for example the result of a tool. */
function saidIn({ type, isMeta, isSidechain, isCompactSummary, message }: RecordLine): Said | null {
  if (type !== 'user' || isMeta === true || isSidechain === true || isCompactSummary === true) return null;
  const text = message === undefined ? '' : textOf(message.content);
  if (text.trim() === '') return null;
  if (PRINTED.test(text))
    return { text: text.replaceAll(/<\/?(?:bash|local-command)-\w+>/g, '').trim(), isPerson: false, isCommand: false };
  for (const [form, shown] of WRAPPED) {
    const found = form.exec(text);
    if (found !== null) return { text: shown(found[1]?.trim() ?? ''), isPerson: true, isCommand: true };
  }
  return { text: text.trim(), isPerson: true, isCommand: false };
}

/** Returns the text of a message's content, without tool results and pictures. */
const textOf = (content: string | readonly z.infer<typeof Block>[]): string =>
  typeof content === 'string'
    ? content
    : content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n\n');

/** A conversation, as its record tells. */
export interface ConversationRecord {
  conversationId: string;
  /** The path of the record. */
  file: string;
  name: string | null;
  firstWords: string;
  /** The working directory in which it was begun. */
  folder: string;
  branch: string | null;
  startedAt: string;
  updatedAt: string;
  messages: number | null;
  bytes: number;
}

export interface ListOrder {
  /** Conversations that were begun in one of these folders, or below, are listed. */
  folders: readonly string[];
  /** Those begun in here are left out. */
  except: string;
  isLeftOut: (conversationId: string) => boolean;
  /** How many are read at most, the newest ones. */
  limit: number;
}

/** Claude Code replaces everything else in a working directory's name; a longer name it cuts and ends with a hash. */
const folderName = (cwd: string): string => cwd.replaceAll(/[^A-Za-z0-9]/g, '-').slice(0, MAX_NAME_LENGTH);
const MAX_NAME_LENGTH = 200;
const RECORD = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

/** The first message is near the beginning, behind what Claude Code says about itself. */
const HEAD_BYTES = 512 * 1024;
const TAIL_BYTES = 64 * 1024;
/** Only a record up to this size is read whole, for the number of its messages. */
const COUNTED_BYTES = 4 * 1024 * 1024;
const EXCERPT = 400;
const AT_ONCE = 4;

/**
 * Lists the conversations that were begun in some folders, newest first. Reads large records only in part, and keeps what it read
 * until the record changes.
 * @param env the environment that Claude Code gets
 */
export function createConversationList(env: Readonly<Record<string, string>>) {
  const read = new Map<string, { sign: string; record: ConversationRecord | null }>();
  const source = join(configFolder(env), 'projects');

  async function recordOf({ file, bytes, changedMs }: FoundFile): Promise<ConversationRecord | null> {
    const sign = `${bytes} ${changedMs}`;
    const known = read.get(file);
    if (known?.sign === sign) return known.record;
    const record = await readRecord(file, bytes, new Date(changedMs).toISOString());
    read.set(file, { sign, record });
    if (read.size > MAX_SAVED) read.delete(read.keys().next().value ?? '');
    return record;
  }

  return {
    source,
    /** @throws a system error, if the records exist and cannot be read */
    async list(order: ListOrder): Promise<{ records: ConversationRecord[]; older: number }> {
      const files = await recordFiles(source, order);
      const records: ConversationRecord[] = [];
      for (let at = 0; at < files.length && records.length < order.limit; at += AT_ONCE) {
        const some = await Promise.all(files.slice(at, at + AT_ONCE).map(recordOf));
        records.push(...some.filter((record) => record !== null).filter(({ folder }) => isWanted(folder, order)));
      }
      const saved = records.slice(0, order.limit);
      return {
        records: saved.toSorted(byNewest),
        older: records.length < order.limit ? 0 : files.length - saved.length,
      };
    },
  };
}

const MAX_SAVED = 2_000;
const byNewest = (a: ConversationRecord, b: ConversationRecord): number => b.updatedAt.localeCompare(a.updatedAt);

const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const isWanted = (path: string, { folders, except }: ListOrder): boolean =>
  folders.some((folder) => isIn(path, folder)) && !isIn(path, except);

interface FoundFile {
  file: string;
  bytes: number;
  changedMs: number;
}

/** Returns the records that may be of these folders, newest first: their names do not tell exactly. */
async function recordFiles(source: string, { folders, isLeftOut }: ListOrder): Promise<FoundFile[]> {
  const names = folders.map(folderName);
  const found: FoundFile[] = [];
  for (const folder of await folderEntries(source)) {
    if (!names.some((name) => folder === name || folder.startsWith(name.length < MAX_NAME_LENGTH ? `${name}-` : name)))
      continue;
    for (const entry of await folderEntries(join(source, folder))) {
      const id = RECORD.exec(entry)?.[1];
      if (id === undefined || isLeftOut(id)) continue;
      const file = join(source, folder, entry);
      const info = await stat(file).catch(() => null); // Claude Code has deleted it meanwhile
      if (info?.isFile()) found.push({ file, bytes: info.size, changedMs: Math.floor(info.mtimeMs) });
    }
  }
  return found.toSorted((a, b) => b.changedMs - a.changedMs);
}

const folderEntries = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return [];
    throw error;
  });

/** Returns null for a record in which nobody said anything. */
async function readRecord(file: string, bytes: number, updatedAt: string): Promise<ConversationRecord | null> {
  const isWhole = bytes <= COUNTED_BYTES;
  const reported = await scan(file, isWhole ? undefined : HEAD_BYTES);
  if (reported === null) return null;
  const { messages, ...rest } = reported;
  return {
    conversationId: basename(file, '.jsonl'),
    file,
    bytes,
    updatedAt,
    ...rest,
    name: (await nameIn(file, bytes)) ?? null,
    messages: isWhole ? messages : null,
  };
}

async function scan(file: string, limit: number | undefined) {
  const input = createReadStream(file, limit === undefined ? {} : { end: limit - 1 });
  let first: { firstWords: string; folder: string; branch: string | null; startedAt: string } | null = null;
  let isFirstCommand = false;
  let messages = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (!text.includes('"type":"user"')) continue;
      const line = parseRecordLine(text);
      const said = line === null ? null : saidIn(line);
      if (line === null || said === null || !said.isPerson) continue;
      messages += 1;
      if (line.cwd === undefined || line.timestamp === undefined || (first !== null && !isFirstCommand)) continue;
      // Words say more than the command that happened to come first.
      if (first === null || !said.isCommand) {
        const branch = line.gitBranch === undefined || line.gitBranch === 'HEAD' ? null : line.gitBranch || null;
        first = {
          branch,
          folder: line.cwd,
          startedAt: line.timestamp,
          ...(first ?? {}),
          firstWords: said.text.slice(0, EXCERPT),
        };
        isFirstCommand = said.isCommand;
      }
      if (limit !== undefined && !isFirstCommand) break;
    }
  } finally {
    input.destroy();
  }
  return first === null ? null : { ...first, messages };
}

const Named = z.object({ type: z.literal('custom-title'), customTitle: z.string().trim().min(1) });

/** Returns the newest name that a person gave the conversation. Claude Code writes it again near the end. */
async function nameIn(file: string, bytes: number): Promise<string | undefined> {
  await using handle = await open(file);
  const length = Math.min(bytes, TAIL_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, bytes - length);
  const named = buffer
    .toString('utf8', 0, bytesRead)
    .split('\n')
    .flatMap((line) => (line.includes('"custom-title"') ? [Named.safeParse(parseJson(line)).data] : []));
  return named.findLast((one) => one !== undefined)?.customTitle;
}
