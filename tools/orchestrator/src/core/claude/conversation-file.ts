import { createReadStream } from 'node:fs';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { parseJson } from '../../lib/text.ts';
import { pathExists } from '../../platform/files.ts';
import type { RecordedHook } from '../agent-event.ts';
import { configFolder } from './launch-options.ts';
import { digestOf } from './translate-messages.ts';

/** Claude Code keeps its conversations here, in one folder for each working directory. */
const conversationsFolder = (env: Readonly<Record<string, string>>): string => join(configFolder(env), 'projects');

/** A message that began a turn. */
const Opening = z.object({ type: z.literal('user'), uuid: z.string() });
/** A message that was folded into a running turn: its uuid differs from the line's. */
const Folded = z.object({
  type: z.literal('attachment'),
  attachment: z.object({ type: z.literal('queued_command'), source_uuid: z.string() }),
});

/**
 * Returns which of these messages Claude Code has written into a conversation, so that a resume knows them. This must be
 * looked up: when messages are sent again, the CLI itself drops only those that began a turn (seen with 2.1.330). Call it
 * after the process has ended, since the CLI writes a moment after it reports a message.
 * @param env the environment that Claude Code gets
 * @returns null when the conversation does not exist
 * @throws when an existing file cannot be read
 */
export async function messagesInConversation(
  env: Readonly<Record<string, string>>,
  conversationId: string,
  messageIds: readonly string[],
): Promise<ReadonlySet<string> | null> {
  const found = new Set<string>();
  if (messageIds.length === 0) return found;
  const files = await conversationFiles(env, conversationId);
  for (const file of files) {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      if (!messageIds.some((id) => line.includes(id))) continue;
      const id = messageOf(parseJson(line));
      if (id !== null && messageIds.includes(id)) found.add(id);
    }
  }
  return files.length === 0 ? null : found;
}

/** Returns the record of a conversation; null if there is none, or more than one. @param env the environment that Claude Code gets */
export async function conversationFile(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<string | null> {
  const [file, ...others] = await conversationFiles(env, conversationId);
  return others.length > 0 ? null : (file ?? null);
}

/** Returns the records of a conversation. Usually one at most: a conversation stays where it began. */
async function conversationFiles(env: Readonly<Record<string, string>>, conversationId: string): Promise<string[]> {
  const folder = conversationsFolder(env);
  const folders = await readdir(folder).catch(() => []);
  const files = folders.map((name) => join(folder, name, `${conversationId}.jsonl`));
  const there = await Promise.all(files.map(pathExists));
  return files.filter((_file, index) => there[index]);
}

/** The id of the message that a line stands for; null for a line of another kind. */
const messageOf = (line: unknown): string | null =>
  Opening.safeParse(line).data?.uuid ?? Folded.safeParse(line).data?.attachment.source_uuid ?? null;

/** What Claude said at the end of a conversation, according to Claude Code's own record. */
export interface ConversationTail {
  /** The texts of each message of the model, by message id. */
  texts: ReadonlyMap<string, ReadonlySet<string>>;
  toolUseIds: ReadonlySet<string>;
  /** False when only the end of a long record was read. */
  isWhole: boolean;
}

/** Far longer than a turn; a longer turn is compared from where the tail begins. */
const TAIL_BYTES = 8 * 1024 * 1024;

const Said = z.object({
  type: z.literal('assistant'),
  message: z.object({
    id: z.string(),
    content: z.array(
      z.union([
        z.object({ type: z.literal('text'), text: z.string() }),
        z.object({ type: z.literal('tool_use'), id: z.string() }),
        z.object({ type: z.string() }).transform(() => null),
      ]),
    ),
  }),
});

/**
 * Reads the end of a conversation's record.
 * @returns null when there is no record, or more than one
 * @throws when the record cannot be read
 */
export async function conversationTail(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<ConversationTail | null> {
  const file = await conversationFile(env, conversationId);
  if (file === null) return null;
  const { text, isWhole } = await readTail(file);
  const texts = new Map<string, Set<string>>();
  const toolUseIds = new Set<string>();
  for (const line of text.split('\n')) {
    const said = line.includes('"assistant"') ? Said.safeParse(parseJson(line)).data?.message : undefined;
    for (const block of said?.content ?? []) {
      if (said === undefined || block === null) continue;
      if (block.type === 'tool_use') toolUseIds.add(block.id);
      else texts.set(said.id, (texts.get(said.id) ?? new Set()).add(block.text));
    }
  }
  return { texts, toolUseIds, isWhole };
}

/** A hook that ran for a call, as Claude Code's record has it. */
const HookRan = z.object({
  attachment: z.object({
    toolUseID: z.string(),
    stdout: z.string(),
    command: z.string().nullish().catch(null),
  }),
});
/** How many records of subagents are read for hooks: those that were written to last. */
const MAX_SUBAGENTS = 32;

/**
 * Reads which hooks ran for which calls at the end of a conversation, its subagents included. The output of the CLI names the tool
 * alone; its record follows up to 0.2 s later (2.1.330).
 */
export async function hooksInConversation(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<RecordedHook[]> {
  const file = await conversationFile(env, conversationId);
  if (file === null) return [];
  const hooks: RecordedHook[] = [];
  for (const each of [file, ...(await subagentFiles(file.replace(/\.jsonl$/, '')))]) {
    const { text } = await readTail(each);
    for (const line of text.split('\n')) {
      const ran = line.includes('"hook_success"') ? HookRan.safeParse(parseJson(line)).data?.attachment : undefined;
      if (ran === undefined) continue;
      hooks.push({ toolUseId: ran.toolUseID, digest: digestOf(ran.stdout), command: ran.command ?? null });
    }
  }
  return hooks;
}

async function subagentFiles(conversation: string): Promise<string[]> {
  const folder = join(conversation, 'subagents');
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.jsonl'));
  const files = names.map(async (name) => {
    const path = join(folder, name);
    return { path, at: (await stat(path)).mtimeMs };
  });
  const newest = (await Promise.all(files)).toSorted((a, b) => b.at - a.at).slice(0, MAX_SUBAGENTS);
  return newest.map(({ path }) => path);
}

async function readTail(path: string): Promise<{ text: string; isWhole: boolean }> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    return { text: buffer.toString('utf8', 0, bytesRead), isWhole: from === 0 };
  } finally {
    await file.close();
  }
}

/** What can be told of a conversation's record without understanding it. */
export interface ConversationCondition {
  bytes: number;
  /** Lines that are cut off: Claude Code skips those when it resumes, without a word (seen with 2.1.330). */
  brokenLines: number;
}

/** Returns the size of a conversation's record; null if there is none, or more than one. @param env the environment that Claude Code gets */
export async function conversationBytes(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<number | null> {
  const file = await conversationFile(env, conversationId);
  return file === null ? null : (await stat(file)).size;
}

/**
 * Looks for cut-off lines in a conversation's record as it is now. What is appended meanwhile is not read.
 * @returns null if there is no record, or more than one
 * @throws a system error if the record cannot be read
 */
export async function conversationCondition(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<ConversationCondition | null> {
  const file = await conversationFile(env, conversationId);
  if (file === null) return null;
  const { size: bytes } = await stat(file);
  if (bytes === 0) return { bytes, brokenLines: 0 };
  let brokenLines = 0;
  const input = createReadStream(file, { end: bytes - 1 });
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line !== '' && !(line.startsWith('{') && line.endsWith('}'))) brokenLines++;
  }
  return { bytes, brokenLines };
}

/** Where a conversation stood before a message. */
export type ConversationLocation =
  /** `at`: the last line before it; null: nothing was said before. */
  | { kind: 'found'; at: string | null }
  /** This conversation does not have the message as the beginning of a turn. */
  | { kind: 'unknown' }
  /** The CLI has summarised the conversation since: it no longer reads what was said before. */
  | { kind: 'compacted' };

const Line = z.object({
  uuid: z.string(),
  parentUuid: z.string().nullish(),
  type: z.string(),
  subtype: z.string().optional(),
  isSidechain: z.boolean().optional(),
});

/**
 * Returns where a conversation stood before a message: the line that `--resume-session-at` takes (seen with 2.1.330: only a line
 * of a person or of Claude; others stand between them). Reads the record line by line.
 * @param env the environment that Claude Code gets
 * @throws when an existing record cannot be read
 */
export async function positionBefore(
  env: Readonly<Record<string, string>>,
  conversationId: string,
  messageId: string,
): Promise<ConversationLocation> {
  for (const file of await conversationFiles(env, conversationId)) {
    const place = await positionIn(file, messageId);
    if (place.kind !== 'unknown') return place;
  }
  return { kind: 'unknown' };
}

async function positionIn(file: string, messageId: string): Promise<ConversationLocation> {
  const parents = new Map<string, { parent: string | null; isSpoken: boolean }>();
  let found: string | null | undefined;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = parse(text);
    if (line === null || line.isSidechain) continue;
    if (found !== undefined) {
      if (line.type === 'system' && line.subtype === 'compact_boundary') return { kind: 'compacted' };
      continue;
    }
    const parent = line.parentUuid ?? null;
    if (line.type === 'user' && line.uuid === messageId) found = parent;
    else parents.set(line.uuid, { parent, isSpoken: line.type === 'user' || line.type === 'assistant' });
  }
  if (found === undefined) return { kind: 'unknown' };
  let at = found;
  while (at !== null && !parents.get(at)?.isSpoken) at = parents.get(at)?.parent ?? null;
  return { kind: 'found', at };
}

/** Null for a line that is cut off or that has no id. */
function parse(text: string): z.infer<typeof Line> | null {
  if (!text.includes('"uuid"')) return null;
  try {
    return Line.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Where Claude Code logs what MCP servers say, in one folder for each working directory and server (2.1.330). */
function logsFolder({ HOME, XDG_CACHE_HOME }: Readonly<Record<string, string>>): string {
  const home = HOME ?? '/';
  const cache =
    process.platform === 'darwin' ? join(home, 'Library', 'Caches') : XDG_CACHE_HOME || join(home, '.cache');
  return join(cache, 'claude-cli-nodejs');
}

const asFolder = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, '-');

const Logged = z.object({ error: z.string().optional(), debug: z.string().optional(), sessionId: z.string() });
const STDERR = /^(?:Server stderr|stderr of the stdio server before restarting it): (.*)$/s;
/** The end of it is enough: an error comes last. */
const MAX_TEXT = 1_000;

interface ServerOfSession {
  worktree: string;
  conversationId: string;
  name: string;
}

/**
 * Returns what an MCP server of a conversation printed on its stderr when its start failed, as Claude Code logged it up to a
 * second later; null if nothing is known. Claude Code itself only says that the connection was closed.
 * @param env the environment that Claude Code gets
 */
export async function mcpText(
  env: Readonly<Record<string, string>>,
  { worktree, conversationId, name }: ServerOfSession,
): Promise<string | null> {
  const folder = join(logsFolder(env), asFolder(worktree), `mcp-logs-${asFolder(name)}`);
  const newest = (await readdir(folder).catch(() => [])).toSorted().at(-1);
  if (newest === undefined) return null;
  const text = await readFile(join(folder, newest), 'utf8').catch(() => '');
  const said = text.split('\n').flatMap((line) => {
    const { data } = line.includes('stderr') ? Logged.safeParse(parseJson(line)) : { data: undefined };
    const text = data?.sessionId === conversationId ? STDERR.exec(data.error ?? data.debug ?? '')?.[1] : undefined;
    return text ?? [];
  });
  const message = stripVTControlCharacters(said.at(-1) ?? '')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, '')
    .trim();
  if (message === '') return null;
  return message.length > MAX_TEXT ? `… ${message.slice(-MAX_TEXT)}` : message;
}
