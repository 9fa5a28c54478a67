import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../../lib/errors.ts';
import { identify, isAlive, type ProcessIdentity } from '../../lib/process-identity.ts';
import { findMarkedProcesses } from './marked-processes.ts';

const LOOK_MS = 20;

/** So often is looked again for what was started while the others were being ended. */
const MOST_ROUNDS = 10;

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
 * (seen after SIGKILL). They are found by the launch's marker. One that starts another just before its own end leaves that
 * one to be found by the next look. True when none is left.
 */
export async function endMarked(launchIds: readonly string[], graceMs: number): Promise<boolean> {
  for (let round = 0; round < MOST_ROUNDS; round++) {
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
    if (systemCode(error) !== 'ESRCH') throw error; // it went in between
  }
}
