import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '@callboard/runtime/errors';
import { findLockHolder } from '@callboard/runtime/process-lock';
import { OperationalError } from './lib/errors.ts';
import { dataDirLayout } from './platform/data-dir.ts';
import { pathExists } from './platform/files.ts';
import { newEpoch } from './store/sqlite/node-sqlite.ts';
import { storageErrorOf } from './store/storage-error.ts';
import { readStoreLocation, requireStoreHere } from './store/store-location.ts';

/** The contents of a backup, which prove that it can be read. */
export interface BackupProof {
  stages: number;
  decisions: number;
  lastEvent: number;
}

/**
 * Copies the store into `target`, even while Callboard runs: a consistent snapshot, which is checked afterwards. Only the
 * owner can read the file. Worktrees belong to git and are not in it. A shared store is copied as the store of this machine alone.
 * @param copyShared copies the shared store into a file; null without one
 * @throws OperationalError `no_data`, `backup_exists`, `backup_failed`, `store_elsewhere`, `storage_failed`
 */
export async function backupStore(
  dataDir: string,
  target: string,
  copyShared: ((target: string) => Promise<void>) | null = null,
): Promise<BackupProof> {
  const { database } = dataDirLayout(dataDir);
  if (!(await pathExists(copyShared === null ? database : dataDir)))
    throw new OperationalError('no_data', `${dataDir} has no Callboard data to back up.`);
  await requireStoreHere(dataDirLayout(dataDir), { dataDir, isShared: copyShared !== null });
  if (await pathExists(target))
    throw new OperationalError('backup_exists', `${target} already exists. Choose another name.`);
  if (copyShared !== null) return backupShared(target, copyShared);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    const source = new DatabaseSync(database, { readOnly: true, timeout: 10_000 });
    try {
      source.prepare('vacuum into ?').run(target);
    } finally {
      source.close();
    }
    await chmod(target, 0o600);
    return proveBackup(target);
  } catch (error) {
    await rm(target, { force: true });
    throw new OperationalError('backup_failed', `The backup failed: ${messageOf(error)}`, { cause: error });
  }
}

async function backupShared(target: string, copy: (target: string) => Promise<void>): Promise<BackupProof> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    await copy(target);
    return proveBackup(target);
  } catch (error) {
    const text = storageErrorOf(error)?.text ?? `${messageOf(error)}.`;
    throw new OperationalError('backup_failed', `The backup failed: ${text}`, { cause: error });
  }
}

/**
 * Opens a backup, checks all of it, and counts its contents.
 * @throws OperationalError `backup_damaged`
 */
export function proveBackup(file: string): BackupProof {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const { integrity_check: verdict } = { integrity_check: '', ...database.prepare('pragma integrity_check').get() };
      if (verdict !== 'ok') throw new Error(String(verdict));
      const count = (sql: string) => Number(database.prepare(sql).get()?.n ?? 0);
      return {
        stages: count('select count(*) as n from stages'),
        decisions: count('select count(*) as n from requests where decision is not null'),
        lastEvent: count("select seq as n from sqlite_sequence where name = 'events'"),
      };
    } finally {
      database.close();
    }
  } catch (error) {
    throw new OperationalError('backup_damaged', `${file} is not an intact backup: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Replaces the store with a backup. Keeps the old store beside it and returns its new path (null if there was none). End
 * the sessions first: of those that ran since, only the processes that the backup knows can be found afterwards.
 * @throws OperationalError `backup_damaged`, `data_dir_in_use`, `store_elsewhere`
 */
export async function restoreStore(
  dataDir: string,
  backup: string,
  now: Date,
): Promise<{ proof: BackupProof; aside: string | null }> {
  const { database, searchIndex, orchestratorLock } = dataDirLayout(dataDir);
  await requireOwnStore(dataDir);
  const holder = await findLockHolder(orchestratorLock);
  if (holder !== null) {
    throw new OperationalError(
      'data_dir_in_use',
      `Callboard (process ${holder.pid}) is running on ${dataDir}. Run "callboard down" first.`,
    );
  }
  const proof = proveBackup(backup);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const aside = (await pathExists(database))
    ? `${database}.before-restore-${now.toISOString().replaceAll(':', '-')}`
    : null;
  const draft = `${database}.restoring`;
  await copyFile(backup, draft);
  await chmod(draft, 0o600);
  forgetProcesses(draft);
  if (aside !== null) await putAside(database, aside);
  await rename(draft, database);
  for (const suffix of ['', '-wal', '-shm']) await rm(`${searchIndex}${suffix}`, { force: true }); // of the other store
  return { proof, aside };
}

/**
 * Checks that the store is a file of the data directory.
 * @throws OperationalError `store_elsewhere`
 */
export async function requireOwnStore(dataDir: string): Promise<void> {
  const location = await readStoreLocation(dataDirLayout(dataDir).storeLocation);
  if (location === null) return;
  throw new OperationalError(
    'store_elsewhere',
    `The store of ${dataDir} is the PostgreSQL database ${location.name}, so a file in the data directory would not be used. ` +
      'Restore the backup into a new data directory, and move its store to an empty database (callboard migrate-store --to postgres).',
  );
}

/**
 * The backup lacks everything that was sent and received since. So what the processes that it knows report about that must
 * raise no alarm, and no event may get a number that was used already.
 */
function forgetProcesses(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(`update launches set end_reason = 'restored from a backup' where state <> 'ended'`);
    for (const statement of newEpoch) database.exec(statement);
  } finally {
    database.close();
  }
}

/** Renames the database with its write-ahead log, without which the newest changes would be missing. */
async function putAside(database: string, aside: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) {
    if (await pathExists(`${database}${suffix}`)) await rename(`${database}${suffix}`, `${aside}${suffix}`);
  }
}
