import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { shareRuns } from '../../lib/shared-runs.ts';

/** A living process, as the system tells of it. */
export interface ProcessRow {
  pid: number;
  parent: number;
  /** Its Unix session: the pid of the process that began it. Whoever starts another program or clears the environment stays in it. */
  session: number;
  /** As in `ProcessIdentity`. */
  startTime: string;
}

/** All living processes. Needs `/proc`; elsewhere there are none. Who asks at the same time shares the answer. */
export const readProcessTable: () => Promise<readonly ProcessRow[]> = shareRuns(async () => {
  const names = await readdir('/proc').catch(() => []);
  const rows = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((name) => readRow(Number(name))));
  return rows.filter((row) => row !== null);
});

/** One process; null when it is gone, or its remains are. */
export async function readRow(pid: number): Promise<ProcessRow | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat === null ? null : parseRow(pid, stat);
}

/** Fields 4, 6 and 22 of `/proc/<pid>/stat`. The name in field 2 may hold blanks and brackets. */
export function parseRow(pid: number, stat: string): ProcessRow | null {
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = rest[18];
  if (state === undefined || /^[ZXx]/.test(state) || startTime === undefined) return null;
  return { pid, parent: Number(rest[0]), session: Number(rest[2]), startTime };
}

/**
 * The processes that the main thread of this one has started, and that have not ended; null when it is gone. Synchronous, as it is
 * read twenty times a second for each session at work: the kernel answers at once, in a ninth of what asking a thread costs.
 */
export function childrenOf(pid: number): number[] | null {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return null;
  }
}

/** The files that a process prints to; none where that may not be seen. */
export async function outputsOf(pid: number): Promise<string[]> {
  const links = await Promise.all([1, 2].map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => null)));
  return links.filter((link) => link !== null);
}

/** Where a process works; null where that may not be seen. */
export const folderOf = (pid: number): Promise<string | null> => readlink(`/proc/${pid}/cwd`).catch(() => null);

/** In what the kernel counts start times, for programs, on every architecture. */
const TICKS_PER_SECOND = 100;

/** What a process was called with, and when it was started; null when it is gone. */
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
