import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemCode } from './errors.ts';

/**
 * Identifies a process beyond doubt. The system reuses a pid, but within one boot never the same pid with the same start
 * time. The boot id tells boots apart.
 */
export interface ProcessIdentity {
  pid: number;
  /** In a unit of the system; only compared for equality. */
  startTime: string;
  bootId: string;
}

const run = promisify(execFile);

/**
 * Returns the identity of a living process; null if no process has this pid, or a dead one (states Z and X).
 * @throws if the system does not answer (for example, no file descriptor is left): the process may still live
 */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const boot = await bootId();
  const startTime = boot === null ? await startTimeFromPs(pid) : await startTimeFromProc(pid);
  // The start time from ps is a date, which already tells boots apart.
  return startTime === null ? null : { pid, startTime, bootId: boot ?? 'none' };
}

/** Returns the identity of this process. */
export async function selfIdentity(): Promise<ProcessIdentity> {
  const self = await identify(process.pid);
  if (self === null) throw new Error('the running process could not be found in the process table');
  return self;
}

/** Whether exactly this process is still alive. @throws as `identify` */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const now = await identify(identity.pid);
  return now !== null && now.startTime === identity.startTime && now.bootId === identity.bootId;
}

/** Returns the id of this boot of the machine; null if the system has none (it is not Linux). @throws as `identify` */
export async function bootId(): Promise<string | null> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    return null;
  }
}

/** The process does not exist, or ends during the read. */
const GONE = new Set(['ENOENT', 'ESRCH']);

async function startTimeFromProc(pid: number): Promise<string | null> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if (!GONE.has(systemCode(error) ?? '')) throw error;
    return null;
  }
  return parseProcStat(stat);
}

/**
 * Returns the start time (field 22) in `/proc/<pid>/stat`; null for a dead process. The name in field 2 may contain spaces
 * and brackets.
 */
export function parseProcStat(stat: string): string | null {
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === undefined || state === 'Z' || state === 'X' || state === 'x') return null;
  return rest[18] ?? null;
}

async function startTimeFromPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [state, ...started] = stdout.trim().split(/\s+/);
    return state === undefined || state === '' || /^[ZX]/.test(state) ? null : started.join(' ');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 1) return null; // the process does not exist
    throw error;
  }
}
