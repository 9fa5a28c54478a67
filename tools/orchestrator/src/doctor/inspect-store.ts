import { open } from 'node:fs/promises';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { dataDirLayout } from '../data-dir.ts';
import { OperationalError } from '../lib/errors.ts';
import { newerThanThis } from '../store/sqlite/migrate.ts';
import { storageErrorOf } from '../store/storage-failure.ts';
import { requireStoreHere } from '../store/store-location.ts';

const Version = z.object({ server_version: z.string() });

/** What a start would find where it looks for the store. */
export interface InspectedStore {
  /** Why it would be refused, in words that hold no secret; null if it would not. */
  storageError: string | null;
  /** The version of the database's server; null for a store in a file, or if it does not answer. */
  server: string | null;
}

/** Looks for the store of a data directory. Writes nothing. @param databaseUrl of the shared store; null without one */
export async function inspectStore(dataDir: string, databaseUrl: string | null): Promise<InspectedStore> {
  try {
    await requireStoreHere(dataDirLayout(dataDir), { dataDir, isShared: databaseUrl !== null });
    if (databaseUrl !== null) return { storageError: null, server: await askServer(databaseUrl, dataDir) };
    return { storageError: newerThanThis(await versionInFile(dataDirLayout(dataDir).database)), server: null };
  } catch (error) {
    const storageError = error instanceof OperationalError ? error.message : storageErrorOf(error)?.text;
    if (storageError === undefined) throw error;
    return { storageError, server: null };
  }
}

async function askServer(databaseUrl: string, dataDir: string): Promise<string> {
  const { createConnect } = await import('../store/postgres/pg-link.ts'); // loaded for a shared store alone
  const { requireKnownVersion, versionOf } = await import('../store/postgres/migrate.ts');
  const { createServerHistory } = await import('../store/postgres/server-history.ts');
  const history = createServerHistory({ path: dataDirLayout(dataDir).databaseTimelines, writer: null });
  const link = await createConnect(parseDatabaseUrl(databaseUrl), history)();
  try {
    const version = await versionOf(link);
    if (version !== null) requireKnownVersion({ version });
    const { rows } = await link.query({ text: 'show server_version' });
    return Version.parse(rows[0]).server_version;
  } finally {
    await link.end();
  }
}

/** Where SQLite's file format has the version of the schema. */
const USER_VERSION_AT = 60;

/** Reads the version without opening the database, which would write beside it. 0 without a file, and in one that is none of SQLite. */
async function versionInFile(path: string): Promise<number> {
  const header = Buffer.alloc(USER_VERSION_AT + 4);
  try {
    await using file = await open(path, 'r');
    await file.read(header, 0, header.length, 0);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  }
  return header.readUInt32BE(USER_VERSION_AT);
}
