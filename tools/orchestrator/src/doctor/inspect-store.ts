import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { z } from 'zod';
import { dataDirLayout } from '../data-dir.ts';
import { OperationalError } from '../lib/errors.ts';
import { troubleOf } from '../store/storage-failure.ts';
import { requireStoreHere } from '../store/store-location.ts';

const Version = z.object({ server_version: z.string() });

/** What a start would find where it looks for the store. */
export interface InspectedStore {
  /** Why it would be refused, in words that hold no secret; null if it would not. */
  trouble: string | null;
  /** The version of the database's server; null for a store in a file, or if it does not answer. */
  server: string | null;
}

/** Looks for the store of a data directory. Writes nothing. @param databaseUrl of the shared store; null without one */
export async function inspectStore(dataDir: string, databaseUrl: string | null): Promise<InspectedStore> {
  try {
    await requireStoreHere(dataDirLayout(dataDir), { dataDir, isShared: databaseUrl !== null });
    return { trouble: null, server: databaseUrl === null ? null : await askServer(databaseUrl, dataDir) };
  } catch (error) {
    const trouble = error instanceof OperationalError ? error.message : troubleOf(error)?.words;
    if (trouble === undefined) throw error;
    return { trouble, server: null };
  }
}

async function askServer(databaseUrl: string, dataDir: string): Promise<string> {
  const { createConnect } = await import('../store/postgres/pg-link.ts'); // loaded for a shared store alone
  const { createServerHistory } = await import('../store/postgres/server-history.ts');
  const history = createServerHistory({ path: dataDirLayout(dataDir).databaseTimelines, writer: null });
  const link = await createConnect(parseDatabaseUrl(databaseUrl), history)();
  try {
    const { rows } = await link.query({ text: 'show server_version' });
    return Version.parse(rows[0]).server_version;
  } finally {
    await link.end();
  }
}
