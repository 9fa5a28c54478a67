import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MachineId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import type { Platform } from './runtime.ts';

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

/** `secret`: what this machine shows to others; they know its hash from the store. */
const Identity = z.object({ id: MachineId, secret: z.string().min(32) });
export type Identity = z.infer<typeof Identity>;

/**
 * Returns the id and the secret of the machine that this data directory belongs to; a new directory gets them.
 * @throws a system error, or ZodError for a file that somebody changed
 */
export async function identityOf(dataDir: string, platform: Pick<Platform, 'newId'>): Promise<Identity> {
  const file = join(dataDir, 'machine.json');
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (text !== null) return Identity.parse(JSON.parse(text));
  const identity = { id: MachineId.parse(platform.newId()), secret: randomBytes(32).toString('base64url') };
  await writeFile(`${file}.new`, `${JSON.stringify(identity)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return identity;
}
