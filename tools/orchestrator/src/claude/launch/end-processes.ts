import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../../lib/errors.ts';
import { identify, isAlive, type ProcessIdentity } from '../../lib/process-identity.ts';
import { findMarkedProcesses } from './marked-processes.ts';

const LOOK_MS = 20;

/** Waits until the process is gone; false when it still lives after `ms`. */
export async function isGoneWithin(identity: ProcessIdentity, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (await isAlive(identity)) {
    if (performance.now() > deadline) return false;
    await sleep(LOOK_MS);
  }
  return true;
}

/**
 * SIGTERM, then after `graceMs` SIGKILL, to exactly this process and never to a pid that another one has by now.
 * True when it is gone.
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
 * Ends what a launch has left running: Bash commands live in process groups of their own and survive their `claude`
 * (seen after SIGKILL). They are found by the launch's marker. True when none is left.
 */
export async function endMarked(launchIds: readonly string[], graceMs: number): Promise<boolean> {
  const marked = await findMarkedProcesses();
  const pids = launchIds.flatMap((id) => marked.get(id) ?? []);
  const results = await Promise.all(
    pids.map(async (pid) => {
      const identity = await identify(pid);
      return identity === null || terminate(identity, graceMs);
    }),
  );
  return results.every(Boolean);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error; // it went in between
  }
}
