import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The paths in a data directory. */
export const dataDirLayout = (dataDir: string) => ({
  database: join(dataDir, 'store.sqlite'),
  /** Exists while the store is a PostgreSQL database. */
  storeLocation: join(dataDir, 'store.json'),
  /** The newest timeline that was used of each PostgreSQL database: an older copy of it is refused. */
  databaseTimelines: join(dataDir, 'database-timelines.json'),
  /** Derived from the store: it may be deleted at rest. */
  searchIndex: join(dataDir, 'search.sqlite'),
  sessions: join(dataDir, 'sessions'),
  worktrees: join(dataDir, 'worktrees'),
  programs: join(dataDir, 'bin'),
  orchestratorLock: join(dataDir, 'run', 'orchestrator.json'),
  /** When this machine last renewed its lease in a shared store. */
  renewal: join(dataDir, 'run', 'renewal.json'),
});

/** Creates the data directory. Only its owner can enter it. */
export async function createDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await chmod(dataDir, 0o700);
}
