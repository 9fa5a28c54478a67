import { type DatabaseAddress, nameOfDatabase, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { AlreadyLocked, acquireProcessLock, type ProcessLock } from '@callboard/runtime/process-lock';
import { endWithoutStore } from '../end-all-sessions.ts';
import { type CutOffDeps, endIfCutOff } from '../features/machines/lease.ts';
import { type DiskWatch, startDiskWatch } from '../features/storage/storage.ts';
import { OperationalError } from '../lib/errors.ts';
import { createDataDir, dataDirLayout } from '../platform/data-dir.ts';
import type { Platform } from '../platform/runtime.ts';
import type { SearchIndex } from '../store/search/search-text.ts';
import type { SharedStore, SharedStores } from '../store/shared-store.ts';
import { openSqliteSearchIndex, openSqliteStore } from '../store/sqlite/sqlite-store.ts';
import { storageErrorOf } from '../store/storage-error.ts';
import type { Store } from '../store/store.ts';
import { noteSharedStore, requireStoreHere } from '../store/store-location.ts';
import type { StartContext } from './context.ts';

/** Loads the add-on for shared stores, which a store in a file does not need. */
export type LoadSharedStores = () => Promise<SharedStores>;

export interface Storage {
  lock: ProcessLock;
  disk: DiskWatch;
  store: Store;
  searchIndex: SearchIndex;
  /** Null: this machine has the store to itself. */
  shared: Pick<SharedStore, 'fenceWith'> | null;
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
  { disk, onCommitsLost, openStore, openSearchIndex }: { disk: DiskWatch; onCommitsLost: () => void } & SharedStores,
  address: DatabaseAddress,
): Promise<Opened> {
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
    const cutOff = cutOffDeps(context);
    if (cutOff !== null) await endIfCutOff(cutOff);
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
  return { store, searchIndex, shared: store };
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

/** How long a session has to end after a signal. */
const GRACE_MS = 5_000;

/** What ends the sessions of this machine when it is cut off; null if nothing does. Needs `/proc`, by which processes are found. */
export function cutOffDeps({ config, log }: Pick<StartContext, 'config' | 'log'>): CutOffDeps | null {
  const { dataDir, endSessionsAfterMinutes } = config;
  if (endSessionsAfterMinutes === null) return null;
  if (process.platform !== 'linux') {
    log.warn(
      'CALLBOARD_END_SESSIONS_AFTER_MINUTES has no effect: without the database, sessions are found on Linux only',
    );
    return null;
  }
  return {
    file: dataDirLayout(dataDir).renewal,
    log,
    afterMs: Math.round(endSessionsAfterMinutes * 60_000),
    async end(reason) {
      const options = { log: (line: string) => log.warn(line), graceMs: GRACE_MS, reason };
      return (await endWithoutStore(dataDir, options)).failed;
    },
  };
}
