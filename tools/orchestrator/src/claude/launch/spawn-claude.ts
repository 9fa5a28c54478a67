import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { untilAborted } from '@callboard/runtime/waits';
import { OperationalError } from '../../lib/errors.ts';
import { detach, type ProcessExit } from '../../lib/processes/processes.ts';
import { endMarked } from '../processes/end-processes.ts';
import { LAUNCH_MARKER } from '../processes/marked-processes.ts';
import { childFiles } from './launch-folder.ts';

export interface SpawnOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** The launch's folder, made by `createLaunchFolder`. */
  folder: string;
  /** As `DetachedJob.mark`. */
  mark?: string | null;
}

/** A `claude` process: started here, or adopted after a restart. */
export interface AgentProcess {
  readonly identity: ProcessIdentity;
  /** Resolves when the process is gone, with how it ended if known, or when the signal aborts. Never rejects. */
  exited(signal: AbortSignal): Promise<ProcessExit>;
}

export type { ProcessExit };

/** An adopted process has no exit event, so it is polled. */
const POLL_MS = 1_000;
/** After a failed start, a process that may have been started has this long to end. */
const GRACE_MS = 1_000;

/**
 * Starts the process detached, in its own Unix session and process group, so that it survives our own death.
 * @throws OperationalError `claude_missing`, `spawn_failed`
 */
export async function spawnClaude({
  command,
  args,
  cwd,
  env,
  folder,
  mark = null,
}: SpawnOptions): Promise<AgentProcess> {
  try {
    const { identity, exit } = await detach({ command, args, cwd, env, stdio: childFiles(folder), mark });
    const adopted = adoptProcess(identity);
    return {
      identity,
      exited: (signal) =>
        Promise.race([
          exit.then((how) => (how.known ? how : adopted.exited(signal))), // unknown when the spawner is gone: the process may still live
          untilAborted(signal).then((): ProcessExit => ({ known: false })),
        ]),
    };
  } catch (error) {
    if (error instanceof OperationalError && env[LAUNCH_MARKER] !== undefined)
      await endMarked([env[LAUNCH_MARKER]], GRACE_MS);
    const missing = systemCode(error) === 'ENOENT';
    const message = missing ? `${command} was not found.` : `${command} could not be started: ${messageOf(error)}`;
    throw new OperationalError(missing ? 'claude_missing' : 'spawn_failed', message, { cause: error });
  }
}

/** A process that an earlier orchestrator started. */
export function adoptProcess(identity: ProcessIdentity): AgentProcess {
  return {
    identity,
    exited: async (signal) => {
      // A process whose state cannot be read counts as alive; the next poll may succeed.
      while (!signal.aborted && (await isAlive(identity).catch(() => true))) {
        await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
      return { known: false };
    },
  };
}
