import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { shellQuote } from '@callboard/contract';
import {
  type DatabaseAddress,
  DatabaseUrlError,
  nameOfDatabase,
  parseDatabaseUrl,
} from '@callboard/runtime/database-url';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import type { SharedStoreOptions } from './command-line/start-options.ts';
import { UsageError } from './errors.ts';
import type { Platform } from './platform.ts';

/** The database of a shared store. */
export interface SharedStore {
  /** With its password: for the orchestrator alone. */
  readonly url: string;
  readonly address: DatabaseAddress;
  /** For people: without any secret. */
  readonly name: string;
}

const FILE = 'database-url';
const STDIN = '--database-url-stdin';
const LIMIT_BYTES = 8_192;

/**
 * Finds the URL of the shared store: on standard input, in the environment, or in the file `database-url` of the data directory, in
 * this order. Null if there is none: the store is a file of this machine then.
 * @throws UsageError if the URL cannot be read or used, or if others could read it too
 */
export async function findSharedStore(
  { url, isPiped }: Pick<SharedStoreOptions, 'url' | 'isPiped'>,
  dataDir: string,
  platform: Pick<Platform, 'input'>,
): Promise<SharedStore | null> {
  if (isPiped) return sharedStore(await readPiped(platform), STDIN);
  if (url !== null) return sharedStore(url, 'CALLBOARD_DATABASE_URL');
  const file = join(dataDir, FILE);
  const text = await readPrivate(file);
  return text === null ? null : sharedStore(text, file);
}

function sharedStore(given: string, from: string): SharedStore {
  const url = given.trim();
  if (url === '') throw new UsageError(`${from}: is empty. Put the URL of the database there (postgres://...).`);
  try {
    const address = parseDatabaseUrl(url);
    return { url, address, name: nameOfDatabase(address) };
  } catch (error) {
    if (error instanceof DatabaseUrlError) throw new UsageError(`${from}: ${error.message}.`);
    throw error;
  }
}

async function readPiped({ input }: Pick<Platform, 'input'>): Promise<string> {
  if (!input.isTerminal) return input.read();
  throw new UsageError(`${STDIN}: standard input is a terminal, which would show the password. Pipe the URL in.`);
}

/** The text of a file that only this account can read; null if there is no such file. */
async function readPrivate(file: string): Promise<string | null> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe there must not hold up the start
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UsageError(`${file}: cannot be read: ${messageOf(error)}.`);
  }
  try {
    const { mode, uid, size } = await handle.stat();
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new UsageError(`${file}: is not a file.`);
    if ((mode & 0o077) !== 0)
      throw new UsageError(
        `${file}: other accounts may read it (its mode is ${(mode & 0o777).toString(8)}), and with it they can do everything. ` +
          `Run: chmod 600 ${shellQuote(file)}. Change the password if somebody may have read it.`,
      );
    const self = process.geteuid?.();
    if (uid !== self && uid !== 0 && self !== undefined)
      throw new UsageError(
        `${file}: belongs to another account. Make it yours: its owner decides which store this is.`,
      );
    if (size > LIMIT_BYTES) throw new UsageError(`${file}: is too long for a URL.`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
