import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { systemCode } from './errors.ts';
import { isAlive, selfIdentity } from './process-identity.ts';

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
