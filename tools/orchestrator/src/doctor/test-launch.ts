import { readFile } from 'node:fs/promises';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { type Channel, openStdioChannel } from '../claude/launch/channel.ts';
import { createLaunchFolder, launchFiles } from '../claude/launch/launch-folder.ts';
import { type ProcessExit, type SpawnOptions, spawnClaude } from '../claude/launch/spawn-claude.ts';
import { endMarked, terminate } from '../claude/processes/end-processes.ts';
import { LAUNCH_MARKER } from '../claude/processes/marked-processes.ts';
import { encodeRow } from '../claude/wire/encode.ts';
import { type Frame, parseFrame } from '../claude/wire/frames.ts';
import { OperationalError } from '../lib/errors.ts';

/** How long a process has to end after a signal. */
const GRACE_MS = 1_000;
/** How long the system may take to report the end of a process that no longer reads. */
const EXIT_NOTICE_MS = 500;

/** One launch of the `claude` under test, on a FIFO and a file as in production. */
export interface TestLaunch {
  readonly pid: number;
  /** What it has printed so far. */
  readonly frames: readonly Frame[];
  isRunning(): boolean;
  /** @throws Error that says how the process ended, if it has */
  write(row: Parameters<typeof encodeRow>[0]): Promise<void>;
  /**
   * Resolves with what `find` returns, called at once and whenever there may be something new.
   * @throws Error in words for the report, if the process ends or the signal aborts first
   */
  until<T>(what: string, find: () => T | undefined, signal: AbortSignal): Promise<T>;
  /** There is something new besides the output of the process. */
  wake(): void;
  /** Closes both ends, as the end of an orchestrator would. */
  detach(): void;
  /** Opens both ends again, and continues to read where it stopped. */
  attach(): void;
  /** Ends the process and everything it has started; resolves when all are gone. */
  end(): Promise<void>;
}

export type TestLaunchOptions = SpawnOptions & { launchId: string };

export async function startTestLaunch({ launchId, ...options }: TestLaunchOptions): Promise<TestLaunch> {
  const { folder } = options;
  await createLaunchFolder(folder);
  const process = await spawnClaude({ ...options, env: { ...options.env, [LAUNCH_MARKER]: launchId } });
  const ending = new AbortController();
  const frames: Frame[] = [];
  let offset = 0;
  let channel: Channel | null = null;
  let reading: Promise<void> = Promise.resolve();
  let exit: ProcessExit | null = null;
  const waiters = createWaiters(() => exit);
  const { wake } = waiters;

  const exited = process.exited(ending.signal).then(async (how) => {
    channel?.finish();
    await reading;
    exit = how;
    wake();
  });

  async function read(from: Channel): Promise<void> {
    for await (const lines of from.lines()) {
      frames.push(...lines.map(({ text }) => parseFrame(text)));
      offset = lines.at(-1)?.end ?? offset;
      wake();
    }
  }

  function attach(): void {
    channel = openStdioChannel(folder, offset, process.identity.pid);
    reading = read(channel).catch(() => undefined); // whoever waits for more times out
  }

  function detach(): void {
    channel?.close();
    channel = null;
  }

  async function until<T>(what: string, find: () => T | undefined, signal: AbortSignal): Promise<T> {
    try {
      return await waiters.until(what, find, signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : error;
      throw new Error(`${message}${await likelyCause(folder, frames)}`, { cause: error });
    }
  }

  async function write(row: Parameters<typeof encodeRow>[0]): Promise<void> {
    try {
      if (channel === null) attach();
      await channel?.write(encodeRow(row));
    } catch (error) {
      if (!(error instanceof OperationalError)) throw error;
      await settlesWithin(exited, EXIT_NOTICE_MS);
      const how = exit === null ? 'it reads no input' : `it ended (${nameOf(exit)})`;
      throw new Error(`${how}${await likelyCause(folder, frames)}`, { cause: error });
    }
  }

  async function end(): Promise<void> {
    await terminate(process.identity, GRACE_MS);
    await endMarked([launchId], GRACE_MS);
    ending.abort();
    detach();
    await exited;
  }

  const { pid } = process.identity;
  return { pid, frames, isRunning: () => exit === null, write, until, wake, detach, attach, end };
}

/** Waits that are checked again whenever there may be something new. @param exitOf how the process ended, if it has */
function createWaiters(exitOf: () => ProcessExit | null) {
  const checks = new Set<() => void>();
  return {
    wake(): void {
      for (const check of checks) check();
    },
    async until<T>(what: string, find: () => T | undefined, signal: AbortSignal): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const check = () => {
        try {
          const found = find();
          const exit = exitOf();
          if (found !== undefined) resolve(found);
          else if (exit !== null) reject(new Error(`it ended (${nameOf(exit)}) before ${what}`));
        } catch (error) {
          reject(error);
        }
      };
      const onAbort = () => reject(new Error(`timed out waiting for ${what}`));
      checks.add(check);
      signal.addEventListener('abort', onAbort);
      check();
      if (signal.aborted) onAbort();
      try {
        return await promise;
      } finally {
        checks.delete(check);
        signal.removeEventListener('abort', onAbort);
      }
    },
  };
}

/** Its first error message, or its first line that is not JSON: either may be the cause. Empty if there is none. */
async function likelyCause(folder: string, frames: readonly Frame[]): Promise<string> {
  const errors = firstLine(await readFile(launchFiles(folder).errors, 'utf8').catch(() => ''));
  const garbage = frames.find((frame) => frame.kind === 'garbage');
  if (errors !== '') return `: ${errors}`;
  return garbage === undefined
    ? ''
    : `; it printed a line that is not JSON: ${JSON.stringify(firstLine(garbage.text))}`;
}

const firstLine = (text: string) => text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';

function nameOf(exit: ProcessExit): string {
  if (!exit.known) return 'cause unknown';
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}
