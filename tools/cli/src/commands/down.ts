import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { isAlive } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import { dataDir, dataDirFlag } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import { exists } from '../data-folder.ts';
import { CliError } from '../errors.ts';
import { findSupervisor, type SupervisorRecord } from '../supervisor/supervisor-lock.ts';
import type { Command } from './command.ts';

/** Longer than a supervisor takes to stop two servers that ignore SIGTERM. */
const SUPERVISOR_GRACE_MS = 15_000;
/** How long a killed process may take to disappear; the system may be busy. */
const KILLED_GRACE_MS = 5_000;
const POLL_MS = 50;

/** `callboard down`: ends the Callboard that runs on a data directory, and all its sessions. */
export const down: Command = {
  name: 'down',
  summary: 'Ends all sessions of a data directory, and the Callboard that runs on it.',
  flags: [dataDirFlag],
  run: async ({ given, platform }) => {
    const folder = parseGiven(z.object({ 'data-dir': dataDir(platform) }), given)['data-dir'];
    if (!(await dataDirExists(folder))) {
      platform.out(`There is nothing to end: ${folder} does not exist.`);
      return 0;
    }
    const supervisor = await findSupervisor(folder);
    if (supervisor !== null) {
      await endSupervisor(supervisor);
      platform.out(`Ended the Callboard that ran on ${folder} (process ${supervisor.pid}).`);
    }
    const log = (line: string) => platform.err(`callboard: ${line}`);
    const { ended, failed } = await platform.endAllSessions(folder, { log });
    platform.out(describe(ended));
    if (failed.length === 0) return 0;
    platform.err(`callboard: these could not be ended and are still running: ${failed.join(', ')}`);
    return 1;
  },
};

function describe(ended: number): string {
  if (ended === 0) return 'No session was running.';
  return ended === 1 ? 'Ended 1 session.' : `Ended ${ended} sessions.`;
}

async function endSupervisor(supervisor: SupervisorRecord): Promise<void> {
  try {
    process.kill(supervisor.pid, 'SIGTERM');
    if (await isGoneWithin(supervisor, SUPERVISOR_GRACE_MS)) return;
    process.kill(supervisor.pid, 'SIGKILL');
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return;
    throw new CliError(`Callboard (process ${supervisor.pid}) cannot be ended: ${messageOf(error)}.`);
  }
  if (!(await isGoneWithin(supervisor, KILLED_GRACE_MS))) {
    throw new CliError(`Callboard (process ${supervisor.pid}) was killed and is still running.`);
  }
}

/** Polls, since there is no event for the end of a process that is not a child. */
async function isGoneWithin(supervisor: SupervisorRecord, ms: number): Promise<boolean> {
  const deadline = AbortSignal.timeout(ms);
  while (await isAlive(supervisor)) {
    if (deadline.aborted) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Whether the data directory exists. */
function dataDirExists(folder: string): Promise<boolean> {
  return exists(folder).catch((error: unknown) => {
    throw new CliError(`--data-dir: ${folder} cannot be read: ${messageOf(error)}.`);
  });
}
