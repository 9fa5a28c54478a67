import { type DatabaseAddress, nameOfDatabase, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { AlreadyLocked, acquireProcessLock, type ProcessLock } from '@callboard/runtime/process-lock';
import { type DiskWatch, startDiskWatch } from '../features/storage/storage.ts';
import { OperationalError } from '../lib/errors.ts';
import { createDataDir, dataDirLayout } from '../platform/data-dir.ts';
import type { Platform } from '../platform/runtime.ts';
import type { SearchIndex } from '../store/search/search-text.ts';
import type { SharedStore } from '../store/shared-store.ts';
import { openSqliteSearchIndex, openSqliteStore } from '../store/sqlite/sqlite-store.ts';
import { storageErrorOf } from '../store/storage-error.ts';
import type { Store } from '../store/store.ts';
import { noteSharedStore, requireStoreHere } from '../store/store-location.ts';
import type { StartContext } from './context.ts';
import type { LoadSharedStores, SharedStores, Stores } from './membership.ts';
import { ONE_MACHINE } from './membership.ts';

export interface Storage {
  lock: ProcessLock;
  disk: DiskWatch;
  store: Store;
  searchIndex: SearchIndex;
  /** Null: this machine has the store to itself. */
  shared: (Pick<SharedStore, 'fenceWith'> & Pick<SharedStores, 'joinMachines'>) | null;
  /** Set `end` when the spawner runs: it must end after the store, and before the lock is released. */
  spawner: { end: () => Promise<void> };
}

/**
 * Locks the data directory, watches its disk, and opens the store.
 * @param onCommitsLost as in `SharedStoreOptions`
 * @throws OperationalError `data_dir_in_use`, `data_dir_unwritable`, `store_elsewhere`, `storage_failed`, `database_newer`,
 *   `database_damaged`
 */
export async function openStorage(
  context: StartContext,
  { loadSharedStores, onCommitsLost }: { loadSharedStores: LoadSharedStores; onCommitsLost: () => void },
): Promise<Storage> {
  const { config, log, platform, limits, life } = context;
  const { dataDir } = config;
  const lock = await lockDataDir(dataDir, config.port, platform);
  life.onStop('lock', lock.release);
  const spawner = { end: (): Promise<void> => Promise.resolve() };
  life.onStop('spawner', () => spawner.end());
  const { databaseUrl } = config;
  await requireStoreHere(dataDirLayout(dataDir), { dataDir, isShared: databaseUrl !== null });
  const reserveBytes = config.diskReserveMb * 1_000_000;
  const disk = startDiskWatch({ dataDir, reserveBytes, platform, log, pollMs: limits.diskCheckIntervalMs });
  life.onStop('disk watch', disk.stop);
  const opened =
    databaseUrl === null
      ? await openOwn(context, disk)
      : await openShared(
          context,
          { disk, onCommitsLost, ...(await loadSharedStores()) },
          parseDatabaseUrl(databaseUrl),
        );
  return { lock, disk, spawner, ...opened };
}

type Opened = Pick<Storage, 'store' | 'searchIndex' | 'shared'>;

/** A store of this machine's own, in a file. */
async function openOwn({ config, log, platform, limits, life }: StartContext, disk: DiskWatch): Promise<Opened> {
  const { dataDir } = config;
  const { database, searchIndex: index } = dataDirLayout(dataDir);
  const store = await openSqliteStore(database, platform, log, disk.diskPauseReason);
  life.onStop('store', store.close);
  await requireWritable(store, dataDir);
  const searchIndex = openSqliteSearchIndex({
    files: { store: database, index },
    store,
    log,
    waitMs: limits.searchLagMs,
    firstMs: limits.searchDelayMs,
    mayGrow: () => disk.diskPauseReason() === null,
  });
  life.onStop('search index', searchIndex.stop);
  return { store, searchIndex, shared: null };
}

/** A store that machines share. */
async function openShared(
  context: StartContext,
  { disk, onCommitsLost, ...addOn }: { disk: DiskWatch; onCommitsLost: () => void } & SharedStores,
  address: DatabaseAddress,
): Promise<Opened> {
  const { openStore, openSearchIndex, endIfCutOff, joinMachines } = addOn;
  const { config, log, platform, limits, life } = context;
  const { diskPauseReason } = disk;
  const { databaseTimelines: historyFile, storeLocation } = dataDirLayout(config.dataDir);
  const store = await openStore({
    address,
    historyFile,
    platform,
    log,
    diskPauseReason,
    onCommitsLost,
  }).catch(async (error: unknown) => {
    // The supervisor tries again, and sessions of an earlier process may still run.
    await endIfCutOff(context);
    throw error;
  });
  life.onStop('store', store.close);
  await noteSharedStore(storeLocation, nameOfDatabase(address), platform.now());
  const searchIndex = openSearchIndex({
    address,
    historyFile,
    store,
    log,
    waitMs: limits.searchLagMs,
    firstMs: limits.searchDelayMs,
  });
  life.onStop('search index', searchIndex.stop);
  return { store, searchIndex, shared: { fenceWith: (fence) => store.fenceWith(fence), joinMachines } };
}

/** The store as the parts of this machine use it, once it is one of those that share it. Throws as `SharedStores.joinMachines`. */
export async function joinStores(
  context: StartContext,
  { store, shared }: Pick<Storage, 'store' | 'shared'>,
  onLost: () => void,
): Promise<Stores> {
  if (shared === null) return { all: store, own: store, membership: ONE_MACHINE };
  return shared.joinMachines(context, { store, shared }, onLost);
}

/**
 * Creates the data directory if it is missing, and locks it for this process.
 * @throws OperationalError `data_dir_unwritable`, `data_dir_in_use`
 */
async function lockDataDir(dataDir: string, port: number, platform: Pick<Platform, 'now'>): Promise<ProcessLock> {
  try {
    await createDataDir(dataDir);
    return await acquireProcessLock(dataDirLayout(dataDir).orchestratorLock, port, platform.now());
  } catch (error) {
    const complaint = describeDiskError(error);
    if (complaint !== null) {
      const advice = 'Make it writable, or use another --data-dir.';
      throw new OperationalError('data_dir_unwritable', `${dataDir} cannot be written to: ${complaint}. ${advice}`, {
        cause: error,
      });
    }
    if (!(error instanceof AlreadyLocked)) throw error;
    const message = `Another Callboard (process ${error.holder.pid}) uses ${dataDir}. Stop it (kill ${error.holder.pid}), or use another folder (--data-dir).`;
    throw new OperationalError('data_dir_in_use', message, { cause: error });
  }
}

/** SQLite opens a read-only file without an error, so this writes to it. @throws OperationalError `storage_failed` */
async function requireWritable(store: Store, dataDir: string): Promise<void> {
  try {
    await store.probe();
  } catch (error) {
    const storageError = storageErrorOf(error instanceof OperationalError ? error.cause : error);
    if (storageError === null) throw error;
    throw new OperationalError('storage_failed', `The store in ${dataDir} cannot be written: ${storageError.text}`, {
      cause: error,
    });
  }
}
