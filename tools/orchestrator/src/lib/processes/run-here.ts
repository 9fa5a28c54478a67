import { type ChildProcess, spawn } from 'node:child_process';

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
    child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
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
