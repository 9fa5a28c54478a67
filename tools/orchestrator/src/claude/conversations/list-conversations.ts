import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { parseJson } from '../../lib/parse-json.ts';
import { configFolder } from '../user-settings.ts';
import { parseRecordLine, saidIn } from './record-lines.ts';

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
  for (const folder of await entriesOf(source)) {
    if (!names.some((name) => folder === name || folder.startsWith(name.length < MAX_NAME_LENGTH ? `${name}-` : name)))
      continue;
    for (const entry of await entriesOf(join(source, folder))) {
      const id = RECORD.exec(entry)?.[1];
      if (id === undefined || isLeftOut(id)) continue;
      const file = join(source, folder, entry);
      const info = await stat(file).catch(() => null); // Claude Code has deleted it meanwhile
      if (info?.isFile()) found.push({ file, bytes: info.size, changedMs: Math.floor(info.mtimeMs) });
    }
  }
  return found.toSorted((a, b) => b.changedMs - a.changedMs);
}

const entriesOf = (folder: string): Promise<string[]> =>
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
