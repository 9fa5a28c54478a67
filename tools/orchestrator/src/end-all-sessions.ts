import { readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StageId } from '@callboard/contract';
import { isAlive } from '@callboard/runtime/process-identity';
import { pino } from 'pino';
import { launchesIn, launchFiles } from './core/claude/claude-process.ts';
import { endCommand } from './core/shell/run-command.ts';
import { OperationalError } from './lib/errors.ts';
import { dataDirLayout } from './platform/data-dir.ts';
import { pathExists } from './platform/files.ts';
import {
  endMarked,
  endStragglers,
  findCommandProcesses,
  findMarkedProcesses,
  terminate,
} from './platform/process-table.ts';
import { nodePlatform } from './platform/runtime.ts';
import { openSqliteStore } from './store/sqlite/sqlite-store.ts';
import { readStoreLocation } from './store/store-location.ts';

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

/**
 * Ends the sessions of a data directory whose store is a shared one, which may be out of reach, or cannot be opened: finds their processes by the
 * folders of launches, and by the marker of what runs in a worktree. Needs `/proc`.
 * @param reason why, in words: kept beside the output of each session for whoever settles its end
 * @returns as `endAllSessions`
 */
export async function endWithoutStore(
  dataDir: string,
  { log, graceMs, reason }: { log: (line: string) => void; graceMs: number; reason?: string },
): Promise<{ ended: number; failed: string[] }> {
  const { sessions, worktrees } = dataDirLayout(dataDir);
  const launches = await launchesIn(sessions);
  const marked = await findMarkedProcesses();
  const failed: string[] = [];
  let ended = 0;
  for (const { stageId, launchId } of launches) {
    if (!marked.has(launchId)) continue;
    // Best effort: the end does not wait for a full disk.
    if (reason !== undefined)
      await writeFile(launchFiles(join(sessions, stageId, launchId)).endReason, reason).catch(() => undefined);
    if (await endMarked([launchId], graceMs)) {
      ended += 1;
      log(`ended the session of ${stageId}`);
    } else failed.push(stageId);
  }
  // The folder of an ended launch is gone, and commands of projects have none.
  for (const id of await inFolder(await findMarkedProcesses(), worktrees))
    if (!(await endMarked([id], graceMs))) failed.push(id);
  for (const id of await inFolder(await findCommandProcesses(), worktrees))
    if (!(await endCommand({ id, process: null, isSandboxed: false }, graceMs))) failed.push(id);
  return { ended, failed: [...new Set(failed)] };
}

/** The markers of processes that work in a folder. */
async function inFolder(marked: ReadonlyMap<string, readonly number[]>, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const [id, pids] of marked) {
    const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
    if (places.some((place) => place === folder || place.startsWith(`${folder}/`))) found.push(id);
  }
  return found;
}
