import { AlreadyHeld, acquireProcessLock, type ProcessLock } from '@callboard/runtime/process-lock';
import { createDataDir, dataDirLayout } from '../data-dir.ts';
import type { Edges } from '../lib/edges.ts';
import { OperationalError, systemCode } from '../lib/errors.ts';
import { troubleOf } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';

/**
 * Creates the data directory if it is missing, and locks it for this process.
 * @throws OperationalError `data_dir_unwritable`, `data_dir_in_use`
 */
export async function lockDataDir(dataDir: string, port: number, edges: Pick<Edges, 'now'>): Promise<ProcessLock> {
  try {
    await createDataDir(dataDir);
    return await acquireProcessLock(dataDirLayout(dataDir).orchestratorLock, port, edges.now());
  } catch (error) {
    const complaint = UNWRITABLE[systemCode(error) ?? ''];
    if (complaint !== undefined) {
      const advice = 'Make it writable, or use another --data-dir.';
      throw new OperationalError('data_dir_unwritable', `${dataDir} cannot be written to: ${complaint}. ${advice}`, {
        cause: error,
      });
    }
    if (!(error instanceof AlreadyHeld)) throw error;
    const message = `Another Callboard (process ${error.holder.pid}) works on ${dataDir}. Stop it first, or use another --data-dir.`;
    throw new OperationalError('data_dir_in_use', message, { cause: error });
  }
}

/** SQLite opens a read-only file without an error, so this writes to it. @throws OperationalError `storage_failed` */
export async function requireWritable(store: Store, dataDir: string): Promise<void> {
  try {
    await store.probe();
  } catch (error) {
    const trouble = troubleOf(error instanceof OperationalError ? error.cause : error);
    if (trouble === null) throw error;
    throw new OperationalError('storage_failed', `The store in ${dataDir} cannot be written: ${trouble.words}`, {
      cause: error,
    });
  }
}

const UNWRITABLE: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only',
  EACCES: 'this account may not write there',
  EPERM: 'this account may not write there',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk quota is used up',
};
