import { createHash } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { untilAborted } from '@callboard/runtime/waits';
import { OperationalError } from '../../lib/errors.ts';
import { endMarked, LAUNCH_MARKER } from '../../platform/process-table.ts';
import { detach, must, type ProcessExit, run } from '../../platform/processes.ts';

/** The launches that have their folder among the sessions of a data directory: `<stage>/<launch>`. The folder of an ended one is gone. */
export async function launchesIn(sessions: string): Promise<{ stageId: string; launchId: string }[]> {
  const names = (folder: string) => readdir(folder).catch(() => []);
  const found = (await names(sessions)).map(async (stageId) =>
    (await names(join(sessions, stageId))).map((launchId) => ({ stageId, launchId })),
  );
  return (await Promise.all(found)).flat();
}

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

/**
 * The files of one launch. Their folder is never used again: a line that a dead process left in a FIFO would reach the
 * next process on the same path (seen).
 */
export const launchFiles = (folder: string) => ({
  /** `claude`'s stdin. */
  input: join(folder, 'in.fifo'),
  /** `claude`'s stdout: the spool. */
  spool: join(folder, 'out.jsonl'),
  errors: join(folder, 'err.log'),
  /** Why Callboard ended the process while the store was out of reach, in words. */
  endReason: join(folder, 'end-reason.txt'),
});

/** The same files while a living process has them open, even after the folder was deleted (Linux; seen). */
export const openFilesOf = (pid: number) => ({ input: `/proc/${pid}/fd/0`, spool: `/proc/${pid}/fd/1` });

/** Creates the folder and its FIFO, accessible to the owner only. Node has no call for `mkfifo`, hence the command. */
export async function createLaunchFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await must({ command: 'mkfifo', args: ['-m', '600', launchFiles(folder).input] });
}

/**
 * What a child gets as its input, output and errors. The FIFO is opened read-write, so that the child never sees the end of
 * its input when we die, and the spool is opened for appending.
 */
function childFiles(folder: string): { path: string; flags: string }[] {
  const { input, spool, errors } = launchFiles(folder);
  return [
    { path: input, flags: 'r+' },
    { path: spool, flags: 'a' },
    { path: errors, flags: 'a' },
  ];
}

/** The child's ends. The parent closes them once the child has its own copies. */
export interface ChildEnds {
  input: FileHandle;
  output: FileHandle;
  errors: FileHandle;
  close(): Promise<void>;
}

/** Opens the child's ends in this process. */
export async function openChildEnds(folder: string): Promise<ChildEnds> {
  const opened: FileHandle[] = [];
  const close = async () => {
    for (const handle of opened) await handle.close();
  };
  try {
    for (const { path, flags } of childFiles(folder)) opened.push(await open(path, flags, 0o600));
    const [input, output, errors] = opened;
    if (input === undefined || output === undefined || errors === undefined) throw new Error('an end is missing');
    return { input, output, errors, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The command that frees the first `length` bytes of a file by punching a hole; the file keeps its length. */
export const punchHole = (file: string, length: number) => ({
  command: 'fallocate',
  args: ['--punch-hole', '--offset', '0', '--length', String(length), file],
});

/**
 * Returns the disk space of the stored part of a spool; the process keeps appending (seen). Where the file system cannot
 * do this, the space stays in use until the launch ends. Never rejects.
 */
export async function reclaimSpool(spool: string, end: number): Promise<void> {
  await run(punchHole(spool, end));
}

/**
 * Creates or finds the stage's own folder for Claude Code's temporary files (the output of commands, what commands write to
 * TMPDIR). Commands in the sandbox may write to it; with a shared folder they could write to those of all sessions. The path
 * is short because sockets lie in it. The folder stays when the session ends, for the next one that resumes the conversation.
 * @param base the folder for temporary files
 * @returns null if something else has that name; Claude Code then chooses a folder
 */
export async function stageTemporaryFolder(base: string, dataDir: string, stageId: string): Promise<string | null> {
  const id = createHash('sha256').update(`${dataDir}\0${stageId}`).digest('hex').slice(0, 10);
  const folder = join(base, `cb-${id}`);
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder).catch(() => null);
  const isOurs = found?.isDirectory() === true && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0;
  return isOurs ? folder : null;
}

/** The variable that makes Claude Code use that folder. */
export async function temporaryVariables(
  ...place: Parameters<typeof stageTemporaryFolder>
): Promise<Record<string, string>> {
  const folder = await stageTemporaryFolder(...place);
  return folder === null ? {} : { TMPDIR: folder };
}
