import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { OperationalError } from '../lib/errors.ts';
import { pathExists } from '../platform/files.ts';

/** Says, in the data directory, that the store is a PostgreSQL database: what a file beside it holds is old. */
const StoreLocation = z.object({
  store: z.literal('postgres'),
  /** The database in words, without any secret. */
  name: z.string(),
  since: z.iso.datetime(),
});
type StoreLocation = z.infer<typeof StoreLocation>;

interface Files {
  /** The SQLite store. */
  database: string;
  storeLocation: string;
}

/**
 * Checks that the store of a data directory is where a start looks for it: a start without the URL must not go on with an old
 * file, nor a start with the URL leave a file behind whose sessions run.
 * @param isShared whether a database URL is given
 * @throws OperationalError `store_elsewhere`
 */
export async function requireStoreHere(
  { database, storeLocation }: Files,
  { dataDir, isShared }: { dataDir: string; isShared: boolean },
): Promise<void> {
  const location = await readStoreLocation(storeLocation);
  if (isShared && location === null && (await pathExists(database)))
    throw new OperationalError(
      'store_elsewhere',
      `The store of ${dataDir} is a file in it, but the URL of a PostgreSQL database is given. Move the store there first ` +
        '(callboard migrate-store --to postgres), or start without the URL. To join the shared store without what the file holds, use another --data-dir.',
    );
  if (!isShared && location !== null)
    throw new OperationalError(
      'store_elsewhere',
      `The store of ${dataDir} has been the PostgreSQL database ${location.name} since ${location.since}, but its URL was not given. ` +
        'Give the URL (CALLBOARD_DATABASE_URL, the file database-url in the data directory, or --database-url-stdin), ' +
        'or move the store back (callboard migrate-store --to sqlite).',
    );
}

/** Returns where the store is; null if it is a file of the data directory. */
export async function readStoreLocation(file: string): Promise<StoreLocation | null> {
  try {
    return StoreLocation.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw new OperationalError(
      'store_elsewhere',
      `${file} says where the store is, and cannot be read. Move it aside if the store is a file beside it.`,
      { cause: error },
    );
  }
}

/** Notes that the store is this database from now on; does nothing if that was noted before. */
export async function noteSharedStore(file: string, name: string, now: Date): Promise<void> {
  const noted = await readStoreLocation(file);
  if (noted?.name === name) return;
  const location: StoreLocation = { store: 'postgres', name, since: noted?.since ?? now.toISOString() };
  await writeFile(`${file}.new`, `${JSON.stringify(location)}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

/** Notes that the store is a file of the data directory from now on. */
export const noteOwnStore = (file: string): Promise<void> => rm(file, { force: true });
