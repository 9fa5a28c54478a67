import { systemCode } from '@callboard/runtime/errors';
import { forEachAtOnce } from '../lib/at-once.ts';
import type { Platform } from '../lib/edges.ts';
import { type StorageError, storageErrorOfSync, storageFailed } from './storage-failure.ts';

/** Low, because each sync occupies one of the four threads that also read files. */
const SYNCS_AT_ONCE = 2;

/**
 * Syncs files to the disk; missing ones are skipped, except for `needed`.
 * @throws OperationalError `storage_failed`, after telling
 */
export async function syncFiles(
  paths: readonly string[],
  platform: Pick<Platform, 'syncFile'>,
  onFailure: (storageError: StorageError) => void,
  needed?: string,
): Promise<void> {
  try {
    await forEachAtOnce(paths, SYNCS_AT_ONCE, async (path) => {
      await platform.syncFile(path).catch((error: unknown) => {
        if (path === needed || systemCode(error) !== 'ENOENT') throw error;
      });
    });
  } catch (error) {
    const storageError = storageErrorOfSync(error);
    onFailure(storageError);
    throw storageFailed(storageError, error);
  }
}
