import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, constants, type FileHandle, open, readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { messageOf } from '@callboard/runtime/errors';
import { identify, type ProcessIdentity } from '@callboard/runtime/process-identity';

/**
 * Messages from the orchestrator to its spawner: the supervisor, or a process of its own. Both come from one build, so neither checks the
 * other's messages.
 */
export type ToSpawner =
  | { type: 'run'; id: number; job: Job }
  | { type: 'abort'; id: number }
  | { type: 'detach'; id: number; job: DetachedJob }
  /** Ends all running jobs, but no detached process, and starts nothing afterwards. */
  | { type: 'end' };

/** Messages from the spawner to the orchestrator. */
export type FromSpawner =
  | { type: 'ran'; id: number; ran: Ran }
  | { type: 'detached'; id: number; identity: ProcessIdentity }
  | { type: 'not-detached'; id: number; message: string; code: string | null }
  | { type: 'exited'; id: number; exit: ProcessExit }
  /** No job is left after an `end`. */
  | { type: 'ended' };

/** Around each message on a pipe that carries others as well: that between the orchestrator and its supervisor. */
export interface OnSharedPipe<Message extends ToSpawner | FromSpawner> {
  type: 'spawner';
  message: Message;
}

/** Whether a message on that pipe is for the spawner, or from it. */
export const isOnSharedPipe = <Message extends ToSpawner | FromSpawner>(raw: unknown): raw is OnSharedPipe<Message> =>
  typeof raw === 'object' && raw !== null && 'type' in raw && raw.type === 'spawner';

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

/**
 * A mark that a process cannot take off: the hard limit of its file locks (RLIMIT_LOCKS), which Linux has not enforced since 2.4.
 * Everything that a process starts inherits it, also when it clears its environment, begins a Unix session of its own or loses its
 * parent, and without CAP_SYS_RESOURCE a hard limit can only be lowered. So whatever is below our own limit was started by us.
 */
const ROW = /^Max file locks +\S+ +(\d+|unlimited) /m;
const UNLIMITED = 2n ** 64n - 1n;
/** Every shell can compute with it, and it leaves room for a Callboard that runs in a session of another one. */
const HIGHEST = 2n ** 53n;

/** Returns the limit of a process; null if it is gone, and where the system has no such limits. */
export async function lockLimitOf(pid: number | 'self'): Promise<bigint | null> {
  const value = ROW.exec(await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => ''))?.[1];
  if (value === undefined) return null;
  return value === 'unlimited' ? UNLIMITED : BigInt(value);
}

/** Makes the marks of stages, which differ from each other and between Callboards. */
export interface ProcessMarks {
  /** The limit for what is started for this stage; null where the system has none. */
  of(stageId: string): Promise<string | null>;
  /** Whether this limit is that of a process which Callboard started for some stage. */
  isMark(limit: bigint): Promise<boolean>;
}

export function createProcessMarks(dataDir: string): ProcessMarks {
  let own: Promise<bigint | null> | undefined;
  const ownLimit = () => {
    own ??= lockLimitOf('self');
    return own;
  };
  return {
    async of(stageId) {
      const limit = await ownLimit();
      if (limit === null || limit < 4n) return null;
      const half = (limit < HIGHEST ? limit : HIGHEST) / 2n;
      const digest = createHash('sha256').update(`${dataDir}\0${stageId}`).digest('hex');
      return String(half + (BigInt(`0x${digest.slice(0, 16)}`) % half));
    },
    async isMark(limit) {
      const mine = await ownLimit();
      return mine !== null && limit < mine;
    },
  };
}

/** The flag is `-w` in dash and BusyBox and `-x` in bash. A shell that has neither starts the program without a mark. */
const SCRIPT = 'ulimit -w "$0" 2>/dev/null || ulimit -x "$0" 2>/dev/null; exec "$@"';

/** Returns the command line that runs a program with this mark, in the same process. */
const withMark = (mark: string, command: string, args: readonly string[]) => ({
  command: '/bin/sh',
  args: ['-c', SCRIPT, mark, command, ...args],
});

/** The variable that marks our calls of git and the hooks that they run, by the pid of the orchestrator. */
export const GIT_MARKER = 'CB_GIT';

/** A program to run to its end. It gets no input. */
export interface Job {
  command: string;
  args: readonly string[];
  /** By default that of this process. */
  cwd?: string | undefined;
  /** The whole environment; by default that of this process. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Ends the program after this time. */
  timeoutMs?: number | undefined;
  /** The time between SIGTERM and SIGKILL. */
  graceMs?: number | undefined;
  /** Ends the program when it prints more than this, to stdout or to stderr. */
  maxBytes?: number | undefined;
}

/** The result of a job, whether it succeeded or not. */
export interface Ran {
  /** True unless the program exited with code 0 and Callboard did not end it. */
  failed: boolean;
  /** A signal killed the program, or Callboard ended it (after its time, for example). */
  wasKilled: boolean;
  /** Null if the program could not be started or a signal ended it. */
  exitCode: number | null;
  /** Without the last newline, like `stderr`. */
  stdout: string;
  stderr: string;
  /** What went wrong, in words; null if nothing did. */
  complaint: string | null;
  /** The program does not exist. */
  isMissing: boolean;
}

const GRACE_MS = 5_000;
const MAX_BYTES = 100 * 1024 * 1024;

/** Runs a job as a child of this process. Ends it when the signal aborts. Never rejects. */
export function runHere(job: Job, signal?: AbortSignal): Promise<Ran> {
  const { command, args, cwd, env, timeoutMs = 0, graceMs = GRACE_MS, maxBytes = MAX_BYTES } = job;
  const line = [command, ...args].join(' ');
  if (signal?.aborted) return Promise.resolve(notRun(`Command was canceled: ${line}`));
  const { promise, resolve } = Promise.withResolvers<Ran>();
  /** Why Callboard ended the program; null if it did not. */
  let ending: string | null = null;
  let child: ChildProcess;
  try {
    // In its own Unix session: a Ctrl-C in the terminal is meant for Callboard, and would end git in the middle of a merge.
    child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    return Promise.resolve(notRun(`Command failed: ${line}\n${String(error)}`)); // for example, a path with a null byte
  }
  const stdout = collect(child.stdout, maxBytes, tooMuch);
  const stderr = collect(child.stderr, maxBytes, tooMuch);
  const timers: NodeJS.Timeout[] = [];
  if (timeoutMs > 0) timers.push(setTimeout(() => end(`timed out after ${timeoutMs} milliseconds`), timeoutMs));
  const onAbort = () => end('was canceled');
  signal?.addEventListener('abort', onAbort);

  function tooMuch(): void {
    end(`printed more than ${maxBytes} bytes`);
  }

  function end(why: string): void {
    if (ending !== null) return;
    ending = why;
    if (child.exitCode !== null || child.signalCode !== null) letGo();
    else child.kill('SIGTERM');
    timers.push(setTimeout(() => child.kill('SIGKILL'), graceMs));
  }

  /** Stops reading: processes that the program started may keep its output open forever. */
  function letGo(): void {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  function settle(ran: Ran): void {
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    resolve(ran);
  }

  child.on('error', (error) => {
    const code = 'code' in error ? ` with ${error.code}` : '';
    if (child.pid !== undefined) return;
    const isMissing = code === ' with ENOENT';
    settle({ ...notRun(`Command failed${code}: ${line}\n${error.message}`), wasKilled: false, isMissing });
  });
  child.on('exit', () => {
    if (ending !== null) letGo();
  });
  child.on('close', (exitCode, killedBy) => {
    const how = ending ?? (killedBy === null ? `failed with exit code ${exitCode}` : `was killed with ${killedBy}`);
    const failed = ending !== null || exitCode !== 0;
    settle({
      failed,
      wasKilled: ending !== null || killedBy !== null,
      exitCode,
      stdout: stdout(),
      stderr: stderr(),
      complaint: failed ? `Command ${how}: ${line}` : null,
      isMissing: false,
    });
  });
  return promise;
}

/** The result of a job that did not run. */
export const notRun = (complaint: string): Ran => ({
  failed: true,
  wasKilled: true,
  exitCode: null,
  stdout: '',
  stderr: '',
  complaint,
  isMissing: false,
});

/** Collects the output of a stream. Returns a function that returns the text so far. */
function collect(stream: ChildProcess['stdout'], maxBytes: number, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) onTooMuch();
    else chunks.push(chunk);
  });
  return () =>
    Buffer.concat(chunks)
      .toString()
      .replace(/\r?\n$/, '');
}
