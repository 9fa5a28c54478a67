import type { Edges } from '../../lib/edges.ts';
import { type StorageTrouble, storageFailed, troubleOf } from '../storage-failure.ts';
import { syncFiles } from '../sync-files.ts';
import type { ReadPool } from './read-pool.ts';

/** Tracks which commits are on the server's disk, and syncs the others. */
export function createServerSync(
  { use }: ReadPool,
  edges: Pick<Edges, 'syncFile'>,
  tellWrite: (trouble: StorageTrouble) => void,
) {
  /** How many transactions were committed without a sync, and how many of those are certainly on disk. */
  let committed = 0;
  let onDisk = 0;
  return {
    countUnsynced(): void {
      committed++;
    },
    /** See `Store.sync`. A commit that is synced puts all commits before it on disk; this one changes nothing. */
    async sync(first: readonly string[] = []): Promise<void> {
      const until = committed;
      if (onDisk >= until) return;
      await syncFiles(first, edges, tellWrite);
      try {
        await use((link) => link.queryAll(`select pg_logical_emit_message(true, 'callboard', 'sync')`));
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === null) throw error;
        tellWrite(trouble);
        throw storageFailed(trouble, error);
      }
      onDisk = Math.max(onDisk, until);
    },
  };
}
