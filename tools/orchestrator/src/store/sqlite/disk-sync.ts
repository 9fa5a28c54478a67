import { type Kysely, sql } from 'kysely';
import type { Platform } from '../../lib/edges.ts';
import type { Schema } from '../sql/schema.ts';
import { type StorageError, storageErrorOfSync, storageFailed } from '../storage-failure.ts';
import { syncFiles } from '../sync-files.ts';

interface DiskSyncDeps {
  /** The log of commits: once it is synced, all commits before are on disk. */
  log: string;
  platform: Pick<Platform, 'syncFile'>;
  onFailure: (storageError: StorageError) => void;
}

export type DiskSync = ReturnType<typeof createDiskSync>;

/** Tracks which commits are on disk, and syncs the others. */
export function createDiskSync({ log, platform, onFailure }: DiskSyncDeps) {
  /** How many transactions were committed without a sync, and how many of those are certainly on disk. */
  let committed = 0;
  let onDisk = 0;
  /** A sync has failed, and it is not yet proven that earlier commits are on disk. */
  let isDoubtful = false;

  const sync = (paths: readonly string[]) =>
    syncFiles(
      paths,
      platform,
      (storageError) => {
        isDoubtful = true;
        onFailure(storageError);
      },
      log,
    );

  return {
    isDoubtful: () => isDoubtful,
    /** Records a failed write that leaves earlier commits in doubt. */
    doubt(): void {
      isDoubtful = true;
    },
    /** Counts a transaction that was committed without a sync. */
    countUnsynced(): void {
      committed++;
    },
    syncLog: () => sync([log]),
    /**
     * Resolves once everything committed before the call is on disk.
     * @param checkpoint runs instead of a sync of the log while the log's state is in doubt
     */
    async sync(first: readonly string[], checkpoint: () => Promise<void>): Promise<void> {
      const until = committed;
      if (onDisk >= until) return;
      await sync(first);
      if (isDoubtful) await checkpoint();
      else await sync([log]);
      onDisk = Math.max(onDisk, until);
    },
    /**
     * Writes all commits into the database file and syncs it. After a failed sync the system may mark pages of the log as
     * written that never were, so syncing the log again would prove nothing.
     */
    async checkpoint(connection: Kysely<Schema>): Promise<void> {
      const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(connection);
      if (rows[0]?.busy !== 0) throw storageFailed(storageErrorOfSync('another process reads the database'), null);
      isDoubtful = false;
    },
  };
}
