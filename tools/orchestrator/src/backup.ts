import { access, chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '@callboard/runtime/errors';
import { findLockHolder } from '@callboard/runtime/process-lock';
import { dataDirLayout } from './data-dir.ts';
import { OperationalError } from './lib/errors.ts';
import { newEpoch } from './store/sqlite/epoch.ts';

/** What a backup holds, as a proof that it can be read. */
export interface BackupProof {
  stages: number;
  decisions: number;
  lastEvent: number;
}

/**
 * Copies the store into `target` while everything runs: one consistent moment, checked afterwards. The file is the
 * owner's alone; worktrees are git's and are not in it.
 * @throws OperationalError `no_data`, `backup_exists`, `backup_failed`
 */
export async function backupStore(dataDir: string, target: string): Promise<BackupProof> {
  const { database } = dataDirLayout(dataDir);
  if (!(await isThere(database))) throw new OperationalError('no_data', `${dataDir} has no Callboard data to back up.`);
  if (await isThere(target))
    throw new OperationalError('backup_exists', `${target} is there already; choose another name.`);
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
    throw new OperationalError('backup_failed', `The backup could not be made: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Opens a backup, checks it whole, and counts what it holds.
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
    throw new OperationalError('backup_damaged', `${file} is no sound backup: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Puts a backup in the place of the store, which is kept beside it under the name that is returned (null when there was
 * none). Sessions that went on since are found by their processes only as far as the backup knows them, so they are to
 * be ended first.
 * @throws OperationalError `backup_damaged`, `data_dir_in_use`
 */
export async function restoreStore(
  dataDir: string,
  backup: string,
  now: Date,
): Promise<{ proof: BackupProof; aside: string | null }> {
  const { database, orchestratorLock } = dataDirLayout(dataDir);
  const holder = await findLockHolder(orchestratorLock);
  if (holder !== null) {
    throw new OperationalError(
      'data_dir_in_use',
      `Callboard (process ${holder.pid}) works on ${dataDir}. Run "callboard down" first.`,
    );
  }
  const proof = proveBackup(backup);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const aside = (await isThere(database))
    ? `${database}.before-restore-${now.toISOString().replaceAll(':', '-')}`
    : null;
  const draft = `${database}.restoring`;
  await copyFile(backup, draft);
  await chmod(draft, 0o600);
  forgetProcesses(draft);
  if (aside !== null) await putAside(database, aside);
  await rename(draft, database);
  return { proof, aside };
}

/**
 * What was given and told since is not in it: what the processes that it knows tell of that is no alarm, and no event
 * gets a number that was used.
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

/** The write-ahead log belongs to its database: without it the newest changes would be missing. */
async function putAside(database: string, aside: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) {
    if (await isThere(`${database}${suffix}`)) await rename(`${database}${suffix}`, `${aside}${suffix}`);
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
