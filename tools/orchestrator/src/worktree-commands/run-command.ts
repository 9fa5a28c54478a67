import { setTimeout as sleep } from 'node:timers/promises';
import type { WorktreeCommandState } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { adoptProcess } from '../claude/launch/spawn-claude.ts';
import { detach } from '../lib/processes/processes.ts';
import type { OutputFile } from './command-output.ts';
import type { PlacedCommand } from './command-place.ts';
import { endCommand, processesOf } from './end-command.ts';

export interface RunOptions {
  id: string;
  placed: PlacedCommand;
  /** As `DetachedJob.mark`. */
  mark: string | null;
  file: OutputFile;
  /** The file that it reads from; without one, its input is empty. */
  input?: string;
  timeLimitMs: number | null;
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
  /** Called once it has a process. */
  onSpawned: (process: ProcessIdentity) => Promise<void>;
}

/** How a command ended. */
export interface CommandEnd {
  state: Exclude<WorktreeCommandState, 'running'>;
  exitCode: number | null;
  reason: string | null;
}

export interface CommandRun {
  /** Resolves when all its processes are gone. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /** Ends it, with this as the way it ended, unless it has ended otherwise. */
  end(how: Pick<CommandEnd, 'state' | 'reason'>): void;
  /** The pids of its processes. */
  pids(): Promise<number[]>;
}

/** How often the length of the output is checked, and outside the sandbox what it started. */
const CHECK_INTERVAL_MS = 1_000;
/** After this long a command starts little, and is looked at less often. */
const BUSY_MS = 60_000;
const REST_MS = 10_000;

/** Starts a command. */
export function runCommand(options: RunOptions): CommandRun {
  const { id, placed, graceMs, mark } = options;
  const isSandboxed = placed.isolation.level === 'sandbox';
  const stopping = new AbortController();
  let asked: Pick<CommandEnd, 'state' | 'reason'> | null = null;
  let process: ProcessIdentity | null = null;
  let known: ProcessIdentity[] = [];
  const ending = () => ({ id, process, isSandboxed, known });

  function end(how: Pick<CommandEnd, 'state' | 'reason'>): void {
    asked ??= how;
    stopping.abort();
  }

  async function check(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    while (!signal.aborted) {
      const isBusy = performance.now() - startedAt < BUSY_MS;
      await sleep(isSandboxed || isBusy ? CHECK_INTERVAL_MS : REST_MS, undefined, { signal, ref: false }).catch(
        () => undefined,
      );
      if (signal.aborted) return;
      await options.file.bound().catch(() => undefined); // a full disk: the next look tries again
      if (!isSandboxed) known = await processesOf(ending());
    }
  }

  async function run(): Promise<CommandEnd> {
    const stdio = [
      { path: options.input ?? '/dev/null', flags: 'r' },
      { path: options.file.path, flags: 'a' },
      { path: options.file.path, flags: 'a' },
    ];
    const { command, args, cwd, env } = placed;
    const detached = await detach({ command, args, cwd, env, stdio, mark });
    process = detached.identity;
    await options.onSpawned(process);
    const over = new AbortController();
    const limit =
      options.timeLimitMs === null ? undefined : setTimeout(timeOut, options.timeLimitMs, options.timeLimitMs);
    const watching = check(over.signal);
    const exited = detached.exit.then(async (exit) => {
      if (!exit.known) await adoptProcess(detached.identity).exited(stopping.signal);
      return exit;
    });
    const stopped = new Promise<null>((resolve) => {
      if (stopping.signal.aborted) resolve(null);
      stopping.signal.addEventListener('abort', () => resolve(null));
    });
    const exit = await Promise.race([exited, stopped]);
    clearTimeout(limit);
    over.abort();
    await watching;
    const isGone = await endCommand(ending(), graceMs);
    const left = isGone ? '' : ' Some of its processes could not be ended.';
    if (asked !== null && exit === null) return { ...asked, exitCode: null, reason: `${asked.reason ?? ''}${left}` };
    if (exit === null || !exit.known) return { state: 'interrupted', exitCode: null, reason: `${LOST}${left}` };
    const { code, signal } = exit;
    if (code === 0) return { state: 'passed', exitCode: 0, reason: left === '' ? null : left.trim() };
    const how = code === null ? `It was ended by ${signal}.` : `It ended with exit code ${code}.`;
    return { state: 'failed', exitCode: code, reason: `${how}${left}` };
  }

  function timeOut(ms: number): void {
    end({ state: 'timed-out', reason: `It ran longer than its time limit of ${duration(ms)}.` });
  }

  const ended = run().catch(async (error: unknown): Promise<CommandEnd> => {
    await endCommand(ending(), graceMs).catch(() => undefined);
    return { state: 'failed', exitCode: null, reason: `It could not be run: ${messageOf(error)}.` };
  });
  return { ended, end, pids: async () => (await processesOf(ending())).map(({ pid }) => pid) };
}

const LOST = 'Callboard lost track of it.';

/** For people: `90 s`, `10 min`, `1 h 30 min`. */
function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
