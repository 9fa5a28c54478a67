import type { CommandReply, MachineId, SavedFile, TrashEntry } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex, type KeyedMutex } from '../lib/keyed-mutex.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store } from '../store/store.ts';
import type { WorktreeRemoval } from '../worktrees/taking-away.ts';
import { createEntries, type Entries, type Origin } from './entries.ts';
import type { Manifest } from './manifest.ts';
import { restoreEntry } from './restore.ts';

export interface TrashDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  dataDir: string;
  worktrees: Pick<WorktreeRemoval, 'putBack' | 'dropSaved'>;
  /** Null where one machine has everything. */
  here: MachineId | null;
}

/** What was kept of removed worktrees: files in `<data-dir>/trash`, one folder for each removal, and commits on hidden refs. */
export interface Trash {
  /**
   * Moves files, with paths relative to the folder, into a new entry. Files moved before a failure stay in the entry.
   * @param work commits that a ref keeps already
   * @throws a system error
   */
  save(folder: string, files: readonly SavedFile[], origin: Origin, work?: Manifest['work']): Promise<TrashEntry>;
  /** Lists the entries, newest first. */
  list(): Promise<TrashEntry[]>;
  /**
   * Moves the files of an entry into a folder and deletes the entry. Without a folder: into the stage's worktree, or into a
   * new folder if there is none. Kept work becomes a worktree with its changes uncommitted: that of the stage if it is gone or
   * untouched, else a new one.
   * @throws Rejection `unknown_trash`, `would_overwrite`, `bad_request`; nothing was moved then
   * @throws OperationalError `storage_failed`; files that were not restored are still in the trash. `worktree_failed`
   */
  restore(id: string, folder?: string): Promise<CommandReply<'restore_trash'>>;
  /** Permanently deletes entries from before this instant. */
  forgetOlder(instant: string): Promise<void>;
  /** The entries, and the mutex in which each is changed, for whoever fills them. */
  readonly entries: Entries;
  readonly inTurn: KeyedMutex;
}

export function createTrash({ store, platform, log, dataDir, worktrees, here }: TrashDeps): Trash {
  const entries = createEntries({ store, platform, dataDir, here });
  const inTurn = createKeyedMutex();

  async function restore(id: string, folder?: string): Promise<CommandReply<'restore_trash'>> {
    const manifest = await entries.find(id);
    if (manifest === null || manifest.taking !== null)
      throw new Rejection('unknown_trash', 'This entry is no longer in the trash.');
    const restored = await restoreEntry({ store, dataDir, entries, worktrees, here }, manifest, folder);
    await dropWork(manifest.work);
    await entries.remove(id);
    return restored;
  }

  async function dropWork(work: Awaited<ReturnType<Entries['all']>>[number]['work']): Promise<void> {
    if (work !== null && work.commit !== null) await worktrees.dropSaved(work.repository, work.ref, work.commit);
  }

  return {
    entries,
    inTurn,
    async save(folder, files, origin, work = null) {
      // Stored before the moves, so that every moved file is listed even after a crash.
      const manifest = await entries.create(origin, { files: [...files], work });
      await entries.takeIn(manifest, folder);
      return { ...(await entries.describe(manifest)), worktree: null };
    },
    async list() {
      return Promise.all((await entries.all()).filter(({ taking }) => taking === null).map(entries.describe));
    },
    restore: (id, folder) => inTurn(id, () => restore(id, folder)),
    async forgetOlder(instant) {
      for (const { id, keptAt, work, taking } of await entries.all()) {
        if (keptAt >= instant || taking !== null) continue;
        await inTurn(id, async () => {
          await dropWork(work); // first: an entry tells which ref to drop
          await entries.remove(id);
        });
        log.info({ id }, 'old trash entry deleted');
      }
    },
  };
}
