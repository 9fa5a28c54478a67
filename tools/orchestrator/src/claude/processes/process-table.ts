import { readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseProcStat } from '@callboard/runtime/process-identity';
import { shareRuns } from '../../lib/shared-runs.ts';

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
export async function* eachEnvironment(): AsyncGenerator<{ pid: number; variables: readonly string[] }> {
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
