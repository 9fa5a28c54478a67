import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, OperationalError, systemCode } from '../../lib/errors.ts';
import { identify, isAlive, type ProcessIdentity } from '../../lib/process-identity.ts';
import { openChildEnds } from './launch-folder.ts';

export interface SpawnOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** The launch's folder, made by `createLaunchFolder`. */
  folder: string;
}

/** A process of ours: born here, or found again after a restart. */
export interface AgentProcess {
  readonly identity: ProcessIdentity;
  /** Resolves when it is gone, with how it ended as far as that can be known. Never rejects; ends with the signal. */
  exited(signal: AbortSignal): Promise<ProcessExit>;
}

export type ProcessExit = { known: true; code: number | null; signal: NodeJS.Signals | null } | { known: false };

/** An adopted process has no exit event, so it is looked at this often. */
const POLL_MS = 1_000;

/**
 * Starts the process detached, in a session and process group of its own, so that it lives on when we die.
 * @throws OperationalError `claude_missing`, `spawn_failed`
 */
export async function spawnClaude({ command, args, cwd, env, folder }: SpawnOptions): Promise<AgentProcess> {
  const ends = await openChildEnds(folder);
  try {
    const child = spawn(command, args, {
      cwd,
      env,
      detached: true,
      stdio: [ends.input.fd, ends.output.fd, ends.errors.fd],
    });
    const exit = once(child, 'exit').then(
      ([code, signal]): ProcessExit => ({ known: true, code, signal }),
      (): ProcessExit => ({ known: false }),
    );
    await once(child, 'spawn');
    child.unref();
    return { identity: await identityOf(child), exited: (signal) => Promise.race([exit, aborted(signal)]) };
  } catch (error) {
    const missing = systemCode(error) === 'ENOENT';
    const message = missing ? `${command} could not be found.` : `${command} could not be started: ${messageOf(error)}`;
    throw new OperationalError(missing ? 'claude_missing' : 'spawn_failed', message, { cause: error });
  } finally {
    await ends.close();
  }
}

async function identityOf(child: ChildProcess): Promise<ProcessIdentity> {
  const pid = child.pid ?? -1;
  try {
    // It may have died already; its exit is then noticed by whoever watches it.
    return (await identify(pid)) ?? { pid, startTime: 'gone', bootId: 'gone' };
  } catch (error) {
    child.kill('SIGKILL'); // one that could not be found again must not live on
    throw error;
  }
}

/** Ends the wait of somebody who no longer cares. */
function aborted(signal: AbortSignal): Promise<ProcessExit> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve({ known: false });
    else signal.addEventListener('abort', () => resolve({ known: false }), { once: true });
  });
}

/** A process that an earlier orchestrator started. */
export function adoptProcess(identity: ProcessIdentity): AgentProcess {
  return {
    identity,
    exited: async (signal) => {
      // Where the system does not tell, it is taken for alive: the next look may know.
      while (!signal.aborted && (await isAlive(identity).catch(() => true))) {
        await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
      return { known: false };
    },
  };
}
