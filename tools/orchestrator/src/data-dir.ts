import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Where things lie in a data directory. */
export const dataDirLayout = (dataDir: string) => ({
  database: join(dataDir, 'store.sqlite'),
  sessions: join(dataDir, 'sessions'),
  worktrees: join(dataDir, 'worktrees'),
  programs: join(dataDir, 'bin'),
  orchestratorLock: join(dataDir, 'run', 'orchestrator.json'),
});

/** Makes the data directory, for its owner alone. */
export async function createDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await chmod(dataDir, 0o700);
}
