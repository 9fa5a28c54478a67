import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, type FileHandle, open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { messageOf } from '@callboard/runtime/errors';
import { identify, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { withMark } from './process-mark.ts';

/** A program that outlives Callboard, in its own Unix session and process group. */
export interface DetachedJob {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Files for stdin, stdout and stderr, opened with these flags. */
  stdio: readonly { path: string; flags: string }[];
  /** Of `ProcessMarks`: it and all that it starts can be told from every other process. */
  mark?: string | null;
}

export type ProcessExit = { known: true; code: number | null; signal: NodeJS.Signals | null } | { known: false };

export interface Detached {
  identity: ProcessIdentity;
  /** Never rejects. */
  exit: Promise<ProcessExit>;
}

/**
 * Starts a detached process as a child of this one.
 * @param mayStart called at the last moment; if it returns false, nothing is started
 * @throws a system error if the program cannot be started; a plain error if a file cannot be opened or `mayStart` forbids it
 */
export async function detachHere(
  { cwd, env, stdio, ...job }: DetachedJob,
  mayStart: () => boolean = () => true,
): Promise<Detached> {
  const ends: FileHandle[] = [];
  try {
    for (const { path, flags } of stdio) ends.push(await openEnd(path, flags));
    const { command, args } = await marked(job);
    if (!mayStart()) throw new Error('the orchestrator has ended');
    const child = spawn(command, args, { cwd, env: { ...env }, detached: true, stdio: ends.map(({ fd }) => fd) });
    const exit = once(child, 'exit').then(
      ([code, signal]): ProcessExit => ({ known: true, code, signal }),
      (): ProcessExit => ({ known: false }),
    );
    await once(child, 'spawn');
    child.unref();
    return { identity: await identityOf(child), exit };
  } finally {
    for (const end of ends) await end.close(); // the child has its own copies of them
  }
}

/** @throws a system error for a program that does not exist: the shell that sets the mark would only print it */
async function marked({ command, args, mark = null }: Pick<DetachedJob, 'command' | 'args' | 'mark'>) {
  if (mark === null) return { command, args };
  if (isAbsolute(command)) await access(command, constants.X_OK);
  return withMark(mark, command, args);
}

/** Throws an error without a code: ENOENT for a missing file must not be mistaken for a missing program. */
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
    // If the process has already died, whoever watches `exit` notices.
    return (await identify(pid)) ?? { pid, startTime: 'gone', bootId: 'gone' };
  } catch (error) {
    child.kill('SIGKILL'); // a process that cannot be found again later must not live on
    throw error;
  }
}
