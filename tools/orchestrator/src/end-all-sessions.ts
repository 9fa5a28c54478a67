import type { StageId } from '@callboard/contract';
import { isAlive } from '@callboard/runtime/process-identity';
import { pino } from 'pino';
import { endMarked, endStragglers, terminate } from './claude/processes/end-processes.ts';
import { dataDirLayout } from './data-dir.ts';
import { endWithoutStore } from './end-without-store.ts';
import { nodePlatform } from './lib/edges.ts';
import { OperationalError } from './lib/errors.ts';
import { pathExists } from './lib/path-exists.ts';
import { openSqliteStore } from './store/sqlite/sqlite-store.ts';
import { readStoreLocation } from './store/store-location.ts';
import { endCommand } from './worktree-commands/end-command.ts';

const GRACE_MS = 5_000;

/**
 * Ends the sessions of a data directory. Finds their processes by the store's records (pid, start time, boot id) and by the
 * marker in the environment of everything they started; likewise what projects run in worktrees. Without the records, where the store
 * cannot be opened, by the folders of launches. No Callboard may be running on it. The records stay as they are: the
 * next start settles them, and each session can be resumed.
 * @returns how many sessions were ended, and the stages whose processes could not be ended
 */
export async function endAllSessions(
  dataDir: string,
  { log }: { log: (line: string) => void },
): Promise<{ ended: number; failed: string[] }> {
  const { database, storeLocation } = dataDirLayout(dataDir);
  if ((await readStoreLocation(storeLocation)) !== null) return endWithoutStore(dataDir, { log, graceMs: GRACE_MS });
  if (!(await pathExists(database))) return { ended: 0, failed: [] };
  const store = await openSqliteStore(database, nodePlatform, pino({ level: 'silent' })).catch((error: unknown) => {
    if (error instanceof OperationalError) return null;
    throw error;
  });
  // A newer Callboard wrote it, for example: processes can be found without it.
  if (store === null) return endWithoutStore(dataDir, { log, graceMs: GRACE_MS });
  try {
    const launches = await store.read.launches.listNotEnded();
    const results = await Promise.all(
      launches.map(async ({ id, stageId, process }) => {
        const lived = process !== null && (await isAlive(process));
        const gone = (process === null || (await terminate(process, GRACE_MS))) && (await endMarked([id], GRACE_MS));
        if (lived && gone) log(`ended the session of ${stageId}`);
        return { stageId, lived, gone };
      }),
    );
    await endStragglers(store.read.launches, GRACE_MS);
    const left: StageId[] = [];
    for (const { command, process } of await store.read.worktreeCommands.listRunning()) {
      const isSandboxed = command.isolation.level === 'sandbox';
      if (!(await endCommand({ id: command.id, process, isSandboxed }, GRACE_MS))) left.push(command.stageId);
    }
    const failed = results.filter(({ gone }) => !gone).map(({ stageId }) => stageId);
    for (const { run, process } of await store.read.sideRuns.listIn(['running']))
      await endCommand({ id: run.id, process, isSandboxed: false }, GRACE_MS);
    return {
      ended: results.filter(({ lived, gone }) => lived && gone).length,
      failed: [...new Set([...failed, ...left])],
    };
  } finally {
    await store.close();
  }
}
