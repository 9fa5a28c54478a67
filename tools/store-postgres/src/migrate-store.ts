import { stat } from 'node:fs/promises';
import { storageErrorOf } from '@callboard/orchestrator/storage-error';
import {
  AppError,
  createDataDir,
  dataDirLayout,
  identityOf,
  nodePlatform,
  noteOwnStore,
  noteSharedStore,
  OperationalError,
  pathExists,
  readStoreLocation,
} from '@callboard/orchestrator/store';
import { nameOfDatabase, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { messageOf } from '@callboard/runtime/errors';
import { AlreadyLocked, acquireProcessLock } from '@callboard/runtime/process-lock';
import {
  bringUpToDate,
  type CopiedTable,
  copyTables,
  copyToFile,
  draftOf,
  isEmpty,
  pauseSame,
  removeDatabase,
} from './copy-to-file.ts';
import { openForCopy, type PostgresCopy } from './open-for-copy.ts';
import { type CopySource, openSqliteCopy, snapshotSqlite } from './sqlite-copy.ts';

export interface StoreMove {
  dataDir: string;
  /** With its password. */
  databaseUrl: string;
  to: 'postgres' | 'sqlite';
  /** Called with each table that was copied and read back. */
  onTable: (table: CopiedTable) => void;
}

export interface MovedStore {
  tables: number;
  rows: number;
  /** Whether an earlier, interrupted move had already copied everything. */
  wasCopied: boolean;
}

/**
 * Moves the store of a data directory to a PostgreSQL database, or back. The source stays as it is. Interrupted at any moment, it
 * has changed nothing or can be run again: the copy becomes the store at once, as a whole, after it was read back.
 * @throws OperationalError `data_dir_in_use`, `no_data`, `target_not_empty`, `copy_failed`, and as opening either store
 */
export async function migrateStore(move: StoreMove): Promise<MovedStore> {
  const { dataDir, to } = move;
  const layout = dataDirLayout(dataDir);
  if (!(await pathExists(dataDir))) throw noData(`${dataDir} has no Callboard data to move.`);
  await createDataDir(dataDir);
  const lock = await lockDataDir(layout.orchestratorLock, dataDir);
  try {
    const postgres = await openDatabase(move);
    try {
      return await (to === 'postgres' ? toPostgres(move, postgres) : toSqlite(move, postgres));
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw new OperationalError(
        'copy_failed',
        `The store could not be moved: ${storageErrorOf(error)?.text ?? `${messageOf(error)}.`} Nothing was changed.`,
        {
          cause: error,
        },
      );
    } finally {
      await postgres.close();
    }
  } finally {
    await lock.release();
  }
}

/** @throws OperationalError `storage_failed` if the database cannot be reached */
async function openDatabase({ databaseUrl, dataDir }: StoreMove): Promise<PostgresCopy> {
  try {
    const { id } = await identityOf(dataDir, nodePlatform);
    return await openForCopy(databaseUrl, { id, historyFile: dataDirLayout(dataDir).databaseTimelines });
  } catch (error) {
    const storageError = storageErrorOf(error);
    if (storageError === null) throw error;
    throw new OperationalError(
      'storage_failed',
      `The store could not be moved: ${storageError.text} Nothing was changed.`,
      {
        cause: error,
      },
    );
  }
}

async function toPostgres({ dataDir, databaseUrl, onTable }: StoreMove, postgres: PostgresCopy): Promise<MovedStore> {
  const { database, storeLocation } = dataDirLayout(dataDir);
  if (!(await pathExists(database))) throw noData(`${dataDir} has no store in a file (${database}).`);
  if ((await readStoreLocation(storeLocation)) !== null)
    throw noData(`The store of ${dataDir} is a PostgreSQL database already: ${database} is what it was before.`);
  const snapshot = draftOf(database);
  await removeDatabase(snapshot);
  try {
    snapshotSqlite(database, snapshot);
    await bringUpToDate(snapshot);
    const source = openSqliteCopy(snapshot, { readOnly: true });
    try {
      const moved = await postgres.inTransaction(async (target) => {
        if (await isEmpty(target)) return summary(await copyTables({ source, target }, source.order, onTable));
        return requireSame(source, target, 'The database holds other data. Name an empty one.');
      });
      await noteSharedStore(storeLocation, nameOfDatabase(parseDatabaseUrl(databaseUrl)), nodePlatform.now());
      return moved;
    } finally {
      source.close();
    }
  } finally {
    await removeDatabase(snapshot);
  }
}

async function toSqlite({ dataDir, onTable }: StoreMove, postgres: PostgresCopy): Promise<MovedStore> {
  const { database, storeLocation, searchIndex } = dataDirLayout(dataDir);
  const moved = await postgres.inTransaction(async (source) => {
    if (await isEmpty(source)) throw noData('The database holds no data of Callboard.');
    if (await pathExists(database)) {
      const present = openSqliteCopy(database, { readOnly: true });
      const advice = `${database} exists and holds something else. Move it aside first, with the files beside it that begin with its name.`;
      return requireSame(source, present, advice).finally(() => present.close());
    }
    await requireNoOrphan(database);
    return summary(await copyToFile(source, database, onTable));
  });
  await removeDatabase(searchIndex); // of the file that was there before
  await noteOwnStore(storeLocation);
  return moved;
}

const summary = (tables: readonly CopiedTable[]): MovedStore => ({
  tables: tables.length,
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  wasCopied: false,
});

/** An earlier move was interrupted after its copy: only what follows is left to do. @throws OperationalError `target_not_empty` */
async function requireSame(source: CopySource, target: CopySource, advice: string): Promise<MovedStore> {
  if (!(await pauseSame(source, target)))
    throw new OperationalError('target_not_empty', `${advice} Nothing was changed.`);
  return { tables: 0, rows: 0, wasCopied: true };
}

/**
 * The log of a store that was moved aside without it would be taken for that of the new one, and destroy it.
 * @throws OperationalError `target_not_empty`
 */
async function requireNoOrphan(database: string): Promise<void> {
  const log = `${database}-wal`;
  const size = (await pathExists(log)) ? (await stat(log)).size : 0;
  if (size > 0)
    throw new OperationalError(
      'target_not_empty',
      `${log} belongs to a store that was moved aside. Move it to the same place, or the newest changes are missing there. Nothing was changed.`,
    );
}

const noData = (message: string) => new OperationalError('no_data', message);

async function lockDataDir(file: string, dataDir: string) {
  try {
    return await acquireProcessLock(file, 0, nodePlatform.now());
  } catch (error) {
    if (!(error instanceof AlreadyLocked)) throw error;
    throw new OperationalError(
      'data_dir_in_use',
      `Callboard (process ${error.holder.pid}) is running on ${dataDir}. Stop it first (kill ${error.holder.pid}); its sessions go on meanwhile.`,
    );
  }
}
