import { readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launchFiles } from './claude/launch/launch-folder.ts';
import { launchesIn } from './claude/launch/launches-in.ts';
import { endMarked } from './claude/processes/end-processes.ts';
import { findCommandProcesses, findMarkedProcesses } from './claude/processes/marked-processes.ts';
import { dataDirLayout } from './data-dir.ts';
import { endCommand } from './worktree-commands/end-command.ts';

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
