/** What commands do with a PostgreSQL store that no orchestrator of this machine needs to have open. */

import { dataDirLayout, identityOf, nodePlatform } from '@callboard/orchestrator/store';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { z } from 'zod';
import { copyToFile } from './copy-to-file.ts';
import { requireKnownVersion, versionOf } from './migrate.ts';
import { openForCopy } from './open-for-copy.ts';
import { createConnect, createServerHistory } from './pg-link.ts';

export { migrateStore } from './migrate-store.ts';

/** The store of a data directory. */
interface StoreOf {
  dataDir: string;
  /** With its password. */
  databaseUrl: string;
}

/** Copies the store into a new file, as the store of this machine alone. */
export async function copyStore({ dataDir, databaseUrl }: StoreOf, target: string): Promise<void> {
  const { id } = await identityOf(dataDir, nodePlatform);
  const postgres = await openForCopy(databaseUrl, { id, historyFile: dataDirLayout(dataDir).databaseTimelines });
  try {
    await postgres.inSnapshot((source) => copyToFile(source, target, () => undefined));
  } finally {
    await postgres.close();
  }
}

const Version = z.object({ server_version: z.string() });

/**
 * Returns the version of the database's server. Writes nothing.
 * @throws OperationalError `database_newer` if a newer Callboard wrote the store; what the database says if it does not answer
 */
export async function askServer({ dataDir, databaseUrl }: StoreOf): Promise<string> {
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
