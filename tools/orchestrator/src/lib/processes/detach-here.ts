import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import { messageOf } from '@callboard/runtime/errors';
import { identify, type ProcessIdentity } from '@callboard/runtime/process-identity';

/** A program that lives on when we die, in a session and process group of its own. */
export interface DetachedJob {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Its input, output and errors: files, opened with these flags. */
  stdio: readonly { path: string; flags: string }[];
}

export type ProcessExit = { known: true; code: number | null; signal: NodeJS.Signals | null } | { known: false };

export interface Detached {
  identity: ProcessIdentity;
  /** Never rejects. */
  exit: Promise<ProcessExit>;
}

/**
 * Starts a detached process as a child of this one.
 * @param mayStart is asked at the last moment
 * @throws a system error where the program cannot be started; an error where a file cannot be opened, or it may not start
 */
export async function detachHere(
  { command, args, cwd, env, stdio }: DetachedJob,
  mayStart: () => boolean = () => true,
): Promise<Detached> {
  const ends: FileHandle[] = [];
  try {
    for (const { path, flags } of stdio) ends.push(await openEnd(path, flags));
    if (!mayStart()) throw new Error('who wanted it is gone');
    const child = spawn(command, args, { cwd, env: { ...env }, detached: true, stdio: ends.map(({ fd }) => fd) });
    const exit = once(child, 'exit').then(
      ([code, signal]): ProcessExit => ({ known: true, code, signal }),
      (): ProcessExit => ({ known: false }),
    );
    await once(child, 'spawn');
    child.unref();
    return { identity: await identityOf(child), exit };
  } finally {
    for (const end of ends) await end.close(); // the child has its own copies
  }
}

/** That a file is not there is not to be taken for a missing program. */
async function openEnd(path: string, flags: string): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    throw new Error(`${path} cannot be opened: ${messageOf(error)}`, { cause: error });
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
