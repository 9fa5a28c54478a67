import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
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

const Holder = z.object({
  pid: z.int().positive(),
  startTime: z.string(),
  bootId: z.string(),
  /** The port that the process listens on; 0 until the system has chosen one. */
  port: z.int(),
  startedAt: z.string(),
});

/** The process that holds a lock. */
export type LockHolder = z.infer<typeof Holder>;

/** A lock file, held by one living process. A lock whose holder has died counts as free. */
export interface ProcessLock {
  /** Whether the previous holder died without releasing the lock. */
  readonly isTakeover: boolean;
  /** Records the actual port. */
  setPort(port: number): Promise<void>;
  release(): Promise<void>;
}

/** Another living process holds the lock. */
export class AlreadyLocked extends Error {
  override readonly name = 'AlreadyHeld';
  readonly holder: LockHolder;

  constructor(holder: LockHolder) {
    super(`held by process ${holder.pid}`);
    this.holder = holder;
  }
}

/**
 * Takes the lock for the calling process, and creates its folder (for the owner alone) if it is missing.
 * @throws AlreadyLocked
 */
export async function acquireProcessLock(file: string, port: number, now: Date): Promise<ProcessLock> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await chmod(dirname(file), 0o700);
  let record: LockHolder = { ...(await selfIdentity()), port, startedAt: now.toISOString() };
  const isTakeover = await claim(file, record);
  return {
    isTakeover,
    setPort: async (actual) => {
      record = { ...record, port: actual };
      await replace(file, record);
    },
    release: async () => {
      // The data directory may have been removed and created again in the meantime.
      if ((await readIfThere(file)) === serialize(record)) await rm(file, { force: true });
    },
  };
}

/** Returns the living holder of a lock, or null. */
export async function findLockHolder(file: string): Promise<LockHolder | null> {
  const text = await readIfThere(file);
  return text === null ? null : livingHolder(text);
}

/**
 * Creates the lock file, or takes it over from a dead holder. Returns whether it was taken over. Throws AlreadyLocked.
 *
 * A takeover needs a second lock, which is acquired in the same way. Its holder reads the file again before replacing it: of
 * two processes that saw the same dead holder, one wins and one is refused.
 */
async function claim(file: string, record: LockHolder): Promise<boolean> {
  for (;;) {
    if (await createNew(file, record)) return false;
    const text = await readIfThere(file);
    if (text === null) continue;
    const holder = await livingHolder(text);
    if (holder !== null) throw new AlreadyLocked(holder);
    const guard = `${file}.takeover`;
    await claim(guard, record);
    try {
      if ((await readIfThere(file)) !== text) continue;
      await replace(file, record);
      return true;
    } finally {
      await rm(guard, { force: true });
    }
  }
}

/** Returns the holder that the text of a lock file names, if it is alive. An unreadable text is left over from a system crash. */
async function livingHolder(text: string): Promise<LockHolder | null> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = Holder.safeParse(raw);
  return parsed.success && (await isAlive(parsed.data)) ? parsed.data : null;
}

const serialize = (record: LockHolder) => `${JSON.stringify(record)}\n`;

/** Creates the file with all its content in one step. Returns false if it already exists. */
async function createNew(file: string, record: LockHolder): Promise<boolean> {
  const draft = await writeDraft(file, record);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function replace(file: string, record: LockHolder): Promise<void> {
  await rename(await writeDraft(file, record), file);
}

async function writeDraft(file: string, record: LockHolder): Promise<string> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, serialize(record), { mode: 0o600, flag: 'wx' });
  return draft;
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}
