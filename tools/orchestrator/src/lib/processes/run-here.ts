import { type ChildProcess, spawn } from 'node:child_process';

/** A program to run to its end. It gets no input. */
export interface Job {
  command: string;
  args: readonly string[];
  /** Ours without one. */
  cwd?: string | undefined;
  /** The whole environment; ours without one. */
  env?: Readonly<Record<string, string>> | undefined;
  /** After that long it is ended. */
  timeoutMs?: number | undefined;
  /** So long after SIGTERM it gets SIGKILL. */
  graceMs?: number | undefined;
  /** It is ended when it prints more than that. */
  maxBytes?: number | undefined;
}

/** What came of a job, whatever it was. */
export interface Ran {
  /** It did not end by itself with exit code 0. */
  failed: boolean;
  /** It did not end by itself: something killed it, or it took too long. */
  wasKilled: boolean;
  /** Null where it could not be started or a signal ended it. */
  exitCode: number | null;
  /** What it printed, without the last newline. */
  stdout: string;
  stderr: string;
  /** What went wrong, in words; null where nothing did. */
  complaint: string | null;
  /** There is no such program. */
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
  /** Why it was ended by us. */
  let ending: string | null = null;
  let child: ChildProcess;
  try {
    child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    return Promise.resolve(notRun(`Command failed: ${line}\n${String(error)}`)); // a path with a null byte, say
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

  /** What it has started may hold its output open for as long as it likes. */
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

/** A job that came to nothing. */
export const notRun = (complaint: string): Ran => ({
  failed: true,
  wasKilled: true,
  exitCode: null,
  stdout: '',
  stderr: '',
  complaint,
  isMissing: false,
});

/** Returns how to get the text that has come. */
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
