import { readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { LaunchId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { identify, isAlive, type ProcessIdentity, parseProcStat } from '@callboard/runtime/process-identity';
import { shareRuns } from '../lib/async.ts';

/** A living process, as the system describes it. */
export interface ProcessRow {
  pid: number;
  parent: number;
  /** Its Unix session: the pid of the session's first process. A process stays in it when it starts another program or clears its environment. */
  session: number;
  /** As in `ProcessIdentity`. */
  startTime: string;
}

/** The pids of all processes. Needs `/proc`; without it there are none. */
export async function listPids(): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** All living processes. Concurrent callers share one run. */
export const readProcessTable: () => Promise<readonly ProcessRow[]> = shareRuns(async () => {
  const rows = await Promise.all((await listPids()).map(readRow));
  return rows.filter((row) => row !== null);
});

/** One process; null if it is gone, or dead and not yet reaped. */
export async function readRow(pid: number): Promise<ProcessRow | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat === null ? null : parseRow(pid, stat);
}

/** Reads fields 4, 6 and 22 of `/proc/<pid>/stat`. The name in field 2 may contain spaces and parentheses. */
export function parseRow(pid: number, stat: string): ProcessRow | null {
  const startTime = parseProcStat(stat);
  if (startTime === null) return null;
  const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, parent: Number(parent), session: Number(session), startTime };
}

/**
 * The living processes that the main thread of this process has started; null if the process is gone. Synchronous because
 * it is read twenty times a second for each busy session: the kernel answers at once, in a ninth of the time that a thread
 * pool call takes.
 */
export function childrenOf(pid: number): number[] | null {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return null;
  }
}

/** The environment variables of a process, as `NAME=value`; null if they may not be read. */
export async function environmentOf(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => null);
  return text === null ? null : text.split('\0');
}

/** How often it is looked for processes that were started meanwhile, or were between two programs. */
const MAX_ROUNDS = 6;
/** A process needs less to start another program, unless it is kept from running. */
const BETWEEN_PROGRAMS_MS = 2;

/**
 * The environments of all processes that we may read, as `NAME=value`. A process that is started while others are read is not
 * missed, nor one that starts another program just then: until that runs, its environment reads as empty (seen).
 */
async function* eachEnvironment(): AsyncGenerator<{ pid: number; variables: readonly string[] }> {
  const read = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const pids = (await listPids()).filter((pid) => !read.has(pid));
    if (pids.length === 0) return;
    let isAnyBetween = false;
    for (const pid of pids) {
      const variables = await environmentOf(pid);
      if (variables?.[0] === '' && hasProgram(pid)) {
        isAnyBetween = true;
        continue;
      }
      read.add(pid);
      if (variables !== null) yield { pid, variables };
    }
    if (isAnyBetween) await sleep(BETWEEN_PROGRAMS_MS);
  }
}

/** False for threads of the kernel and for the dead. Synchronous, because there are many: a thread would cost ten times as much. */
function hasProgram(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`) !== '';
  } catch {
    return false; // or another user's
  }
}

/** The words of a process's command line, with the program; none if they may not be read. */
export async function argumentsOf(pid: number): Promise<string[]> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line.split('\0').filter((word) => word !== '');
}

/** The files that a process prints to; none if that may not be read. */
export async function outputsOf(pid: number): Promise<string[]> {
  const links = await Promise.all([1, 2].map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => null)));
  return links.filter((link) => link !== null);
}

/** The working directory of a process; null if that may not be read. */
export const folderOf = (pid: number): Promise<string | null> => readlink(`/proc/${pid}/cwd`).catch(() => null);

/** The unit in which the kernel reports start times to programs, on every architecture. */
const TICKS_PER_SECOND = 100;

/** The command line of a process, and when it was started; null if it is gone. */
export async function describeProcess({ pid, startTime }: ProcessRow): Promise<{ command: string; at: Date } | null> {
  const read = (path: string) => readFile(path, 'utf8').catch(() => null);
  const [line, name, system] = await Promise.all([
    read(`/proc/${pid}/cmdline`),
    read(`/proc/${pid}/comm`),
    read('/proc/stat'),
  ]);
  const bootSeconds = /^btime (\d+)$/m.exec(system ?? '')?.[1];
  if (line === null || name === null || bootSeconds === undefined) return null;
  const command = line.replace(/\0+$/, '').replaceAll('\0', ' ');
  const at = new Date((Number(bootSeconds) + Number(startTime) / TICKS_PER_SECOND) * 1_000);
  return { command: command === '' ? name.trim() : command, at };
}

const POLL_MS = 20;

/** How often to search again for processes that were started while others were being ended. */
const MAX_END_ROUNDS = 10;

/** Resolves with true once the process is gone, with false when it still lives after `ms`. */
export async function isGoneWithin(identity: ProcessIdentity, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (await isAlive(identity)) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/**
 * Sends SIGTERM, then SIGKILL after `graceMs`, to exactly this process and never to another one that has its pid by now.
 * @returns whether it is gone
 */
export async function terminate(identity: ProcessIdentity, graceMs: number): Promise<boolean> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await isAlive(identity))) return true;
    send(identity.pid, signal);
    if (await isGoneWithin(identity, graceMs)) return true;
  }
  return false;
}

/**
 * Ends what launches have left running, found by their marker: Bash commands have process groups of their own and survive
 * their `claude` (seen after SIGKILL). A process that one of them starts just before its own end is found in the next round.
 * @returns whether all are gone
 */
export async function endMarked(launchIds: readonly string[], graceMs: number): Promise<boolean> {
  for (let round = 0; round < MAX_END_ROUNDS; round++) {
    const marked = await findMarkedProcesses();
    const pids = launchIds.flatMap((id) => marked.get(id) ?? []);
    if (pids.length === 0) return true;
    const results = await Promise.all(
      pids.map(async (pid) => {
        const identity = await identify(pid);
        return identity === null || terminate(identity, graceMs);
      }),
    );
    if (!results.every(Boolean)) return false;
  }
  return false;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended meanwhile, or belongs to another account: then it is not gone, and that is said.
    if (systemCode(error) !== 'ESRCH' && systemCode(error) !== 'EPERM') throw error;
  }
}

/** The stored launches, as far as `endStragglers` needs them. */
interface StoredLaunches {
  find(id: LaunchId): Promise<{ state: string } | null>;
}

/**
 * Ends every process that carries the marker of an ended launch of this store. The end of a launch is stored before its
 * remaining processes are ended, so a Callboard that was killed in between has left them running.
 * @param onLeft gets the launches of which not everything could be ended
 * @returns whether all are gone
 */
export async function endStragglers(
  launches: StoredLaunches,
  graceMs: number,
  onLeft?: (launchIds: readonly LaunchId[]) => void,
): Promise<boolean> {
  const marked = await findMarkedProcesses();
  const ids = [...marked.keys()].flatMap((marker) => LaunchId.safeParse(marker).data ?? []);
  const states = await Promise.all(ids.map(async (id) => (await launches.find(id))?.state));
  const ended = ids.filter((_, index) => states[index] === 'ended');
  if (ended.length === 0 || (await endMarked(ended, graceMs))) return true;
  onLeft?.(ended);
  return false;
}

/** The variable that marks a launch's process and everything it starts, including Bash commands in their own process groups. */
export const LAUNCH_MARKER = 'CB_LAUNCH';

/**
 * Living processes by the launch whose marker they carry, as far as we may read them. Needs `/proc`; without it none are
 * found. Concurrent callers share one run, since all of `/proc` is read for it.
 */
export const findMarkedProcesses: () => Promise<ReadonlyMap<string, readonly number[]>> = shareRuns(() =>
  readAll(LAUNCH_MARKER),
);

/** The variable that marks what the project runs in a worktree, by the id of the run. */
export const COMMAND_MARKER = 'CB_COMMAND';

/** As `findMarkedProcesses`, by the run of a command in a worktree. */
export const findCommandProcesses: () => Promise<ReadonlyMap<string, readonly number[]>> = shareRuns(() =>
  readAll(COMMAND_MARKER),
);

async function readAll(name: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, readonly number[]>();
  for await (const { pid, variables } of eachEnvironment()) {
    const marker = variables.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
    if (marker !== undefined) found.set(marker, [...(found.get(marker) ?? []), pid]);
  }
  return found;
}

/** Whether a living process has this variable, as `NAME=value`, as far as we may read them. Needs `/proc`; without it none has. */
export async function hasProcessWith(variable: string): Promise<boolean> {
  for await (const { variables } of eachEnvironment()) if (variables.includes(variable)) return true;
  return false;
}
