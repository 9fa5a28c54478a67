import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemCode } from './errors.ts';

/**
 * Which process this is, beyond doubt: a pid alone is used again by the system, a pid with its start time is not
 * within one boot, and the boot id tells boots apart.
 */
export interface ProcessIdentity {
  pid: number;
  /** In the unit of the system it was read on; only ever compared for equality. */
  startTime: string;
  bootId: string;
}

const run = promisify(execFile);

/**
 * The identity of a living process; null when there is none of that pid, or only its remains (states Z and X).
 * @throws when the system does not tell (no file descriptor is left, say): that is not the end of a process
 */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const boot = await bootId();
  const startTime = boot === null ? await startTimeFromPs(pid) : await startTimeFromProc(pid);
  // The start time from ps is a date, so it tells boots apart by itself.
  return startTime === null ? null : { pid, startTime, bootId: boot ?? 'none' };
}

/** The identity of the process that asks. */
export async function selfIdentity(): Promise<ProcessIdentity> {
  const self = await identify(process.pid);
  if (self === null) throw new Error('the running process could not be found in the process table');
  return self;
}

/** Whether that very process still lives. @throws as `identify` */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const now = await identify(identity.pid);
  return now !== null && now.startTime === identity.startTime && now.bootId === identity.bootId;
}

/** Which boot of the machine this is; null where the system does not tell (it is not Linux). @throws as `identify` */
export async function bootId(): Promise<string | null> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    return null;
  }
}

/** There is no such process, or it ends while one reads. */
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

/** Start time (field 22) out of `/proc/<pid>/stat`; null for a dead process. The name in field 2 may hold blanks and brackets. */
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
    if (error instanceof Error && 'code' in error && error.code === 1) return null; // there is no such process
    throw error;
  }
}
