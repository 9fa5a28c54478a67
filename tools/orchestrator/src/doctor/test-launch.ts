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

/** For a signal to end a process. */
const GRACE_MS = 1_000;
/** For the system to tell that a process has ended which does not read any more. */
const EXIT_NOTICE_MS = 500;

/** One launch of the `claude` under test, on a FIFO and a file as in production. */
export interface TestLaunch {
  readonly pid: number;
  /** What it printed so far. */
  readonly frames: readonly Frame[];
  isRunning(): boolean;
  /** @throws Error with how it ended, if it has. */
  write(row: Parameters<typeof encodeRow>[0]): Promise<void>;
  /**
   * What `look` finds, tried at once and whenever there may be something new.
   * @throws Error in words for the report, when the process ends or the signal aborts before
   */
  until<T>(what: string, look: () => T | undefined, signal: AbortSignal): Promise<T>;
  /** There is something new beyond what the process printed. */
  wake(): void;
  /** Lets go of both ends, as the end of an orchestrator would. */
  detach(): void;
  /** Takes both ends up again, where reading had stopped. */
  attach(): void;
  /** Ends it and whatever it has started; resolves when all are gone. */
  end(): Promise<void>;
}

export type TestLaunchOptions = SpawnOptions & { launchId: string };

export async function startTestLaunch({ launchId, ...options }: TestLaunchOptions): Promise<TestLaunch> {
  const { folder } = options;
  await createLaunchFolder(folder);
  const process = await spawnClaude({ ...options, env: { ...options.env, [LAUNCH_MARKER]: launchId } });
  const ending = new AbortController();
  const frames: Frame[] = [];
  const watchers = new Set<() => void>();
  const wake = () => {
    for (const watcher of watchers) watcher();
  };
  let offset = 0;
  let channel: Channel | null = null;
  let reading: Promise<void> = Promise.resolve();
  let exit: ProcessExit | null = null;

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
    reading = read(channel).catch(() => undefined); // whoever waits for more runs out of time
  }

  function detach(): void {
    channel?.close();
    channel = null;
  }

  /** What it said besides, which may be the cause. */
  async function lastWords(): Promise<string> {
    const errors = firstLine(await readFile(launchFiles(folder).errors, 'utf8').catch(() => ''));
    const garbage = frames.find((frame) => frame.kind === 'garbage');
    if (errors !== '') return `: ${errors}`;
    return garbage === undefined ? '' : `; it printed what is no JSON: ${JSON.stringify(firstLine(garbage.text))}`;
  }

  async function until<T>(what: string, look: () => T | undefined, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const watcher = () => {
      try {
        const found = look();
        if (found !== undefined) resolve(found);
        else if (exit !== null) reject(new Error(`it ended (${nameOf(exit)}) before ${what}`));
      } catch (error) {
        reject(error);
      }
    };
    const giveUp = () => reject(new Error(`waited in vain for ${what}`));
    watchers.add(watcher);
    signal.addEventListener('abort', giveUp);
    watcher();
    if (signal.aborted) giveUp();
    try {
      return await promise;
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}${await lastWords()}`, { cause: error });
    } finally {
      watchers.delete(watcher);
      signal.removeEventListener('abort', giveUp);
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
      throw new Error(`${how}${await lastWords()}`, { cause: error });
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

const firstLine = (text: string) => text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';

function nameOf(exit: ProcessExit): string {
  if (!exit.known) return 'how is not known';
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}
