import { setTimeout as sleep } from 'node:timers/promises';
import { LaunchId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { identify, isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { findMarkedProcesses } from './marked-processes.ts';

const POLL_MS = 20;

/** How often to search again for processes that were started while others were being ended. */
const MAX_ROUNDS = 10;

/** Resolves with true once the process is gone, with false when it still lives after `ms`. */
export async function isGoneWithin(identity: ProcessIdentity, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (await isAlive(identity)) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/**
 * Sends SIGTERM, then SIGKILL after `graceMs`, to exactly this process and never to another one that has its pid by now.
 * @returns whether it is gone
 */
export async function terminate(identity: ProcessIdentity, graceMs: number): Promise<boolean> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await isAlive(identity))) return true;
    send(identity.pid, signal);
    if (await isGoneWithin(identity, graceMs)) return true;
  }
  return false;
}

/**
 * Ends what launches have left running, found by their marker: Bash commands have process groups of their own and survive
 * their `claude` (seen after SIGKILL). A process that one of them starts just before its own end is found in the next round.
 * @returns whether all are gone
 */
export async function endMarked(launchIds: readonly string[], graceMs: number): Promise<boolean> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const marked = await findMarkedProcesses();
    const pids = launchIds.flatMap((id) => marked.get(id) ?? []);
    if (pids.length === 0) return true;
    const results = await Promise.all(
      pids.map(async (pid) => {
        const identity = await identify(pid);
        return identity === null || terminate(identity, graceMs);
      }),
    );
    if (!results.every(Boolean)) return false;
  }
  return false;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended meanwhile, or belongs to another account: then it is not gone, and that is said.
    if (systemCode(error) !== 'ESRCH' && systemCode(error) !== 'EPERM') throw error;
  }
}

/** The stored launches, as far as `endStragglers` needs them. */
interface StoredLaunches {
  find(id: LaunchId): Promise<{ state: string } | null>;
}

/**
 * Ends every process that carries the marker of an ended launch of this store. The end of a launch is stored before its
 * remaining processes are ended, so a Callboard that was killed in between has left them running.
 * @param onLeft gets the launches of which not everything could be ended
 * @returns whether all are gone
 */
export async function endStragglers(
  launches: StoredLaunches,
  graceMs: number,
  onLeft?: (launchIds: readonly LaunchId[]) => void,
): Promise<boolean> {
  const marked = await findMarkedProcesses();
  const ids = [...marked.keys()].flatMap((marker) => LaunchId.safeParse(marker).data ?? []);
  const states = await Promise.all(ids.map(async (id) => (await launches.find(id))?.state));
  const ended = ids.filter((_, index) => states[index] === 'ended');
  if (ended.length === 0 || (await endMarked(ended, graceMs))) return true;
  onLeft?.(ended);
  return false;
}
