import type { Platform } from '../../lib/edges.ts';
import { type StorageError, storageErrorOf, storageFailed } from '../storage-failure.ts';
import { syncFiles } from '../sync-files.ts';
import type { ReadPool } from './read-pool.ts';

const SYNC = `select pg_logical_emit_message(true, 'callboard', 'sync')`;
/**
 * A machine that cannot reach the database for a day finds such rows at its next start. A process that has not written for 30 days
 * has ended; if not, its next commit adds its row again. With a sync each second, this runs about once an hour.
 */
const FORGET = `delete from given_rows where at < now() - interval '1 day';
  delete from writers where at < now() - interval '30 days'`;
const FORGET_EVERY = 3_600;

/** Tracks which commits are on the server's disk, and syncs the others. */
export function createServerSync(
  { use }: ReadPool,
  platform: Pick<Platform, 'syncFile'>,
  reportWrite: (storageError: StorageError) => void,
) {
  /** How many transactions were committed without a sync, and how many of those are certainly on disk. */
  let committed = 0;
  let onDisk = 0;
  let times = 0;
  return {
    countUnsynced(): void {
      committed++;
    },
    /** See `Store.sync`. A commit that is synced puts all commits before it on disk; this one changes nothing. */
    async sync(first: readonly string[] = []): Promise<void> {
      const until = committed;
      if (onDisk >= until) return;
      await syncFiles(first, platform, reportWrite);
      try {
        const isDue = times++ % FORGET_EVERY === 0;
        await use((link) => link.queryAll(isDue ? `${FORGET};${SYNC}` : SYNC));
      } catch (error) {
        const storageError = storageErrorOf(error);
        if (storageError === null) throw error;
        reportWrite(storageError);
        throw storageFailed(storageError, error);
      }
      onDisk = Math.max(onDisk, until);
    },
  };
}
