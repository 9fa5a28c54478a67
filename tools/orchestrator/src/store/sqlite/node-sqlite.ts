import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { mark } from '@callboard/runtime/marks';
import { type Kysely, type SqliteDatabase, SqliteDialect, type SqliteStatement, sql } from 'kysely';
import { OperationalError } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import { statementsFor } from '../sql/migration-statements.ts';
import { migrations } from '../sql/migrations.ts';
import type { Execute } from '../sql/prepared.ts';
import type { Database, Schema } from '../sql/schema.ts';
import { type StorageError, storageErrorOfSync, storageFailed, syncFiles } from '../storage-error.ts';
import type { CommitSync } from '../store.ts';

export interface SqliteFile {
  readonly dialect: SqliteDialect;
  /** The log of commits: once it is synced, all commits before are on disk. */
  readonly log: string;
  /** For the holder of the connection. */
  readonly execute: Execute;
  /** Sets the sync mode of the following transactions. Must not be called within one: SQLite refuses it. */
  commit(sync: CommitSync): void;
}

const SYNCHRONOUS = { now: 'full', later: 'normal' };

/**
 * Opens a database file for Kysely, whose SQLite dialect expects the interface of better-sqlite3. One connection; Kysely
 * lends it to one query or transaction at a time.
 */
export function openSqliteFile(file: string): SqliteFile {
  for (const suffix of ['', '-wal', '-shm']) makePrivate(`${file}${suffix}`);
  const database = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true });
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma temp_store = memory;');
  let current: CommitSync = 'now';
  const adapted = adapt(database);
  return {
    dialect: new SqliteDialect({ database: adapted }),
    execute: (sql, parameters) => {
      const statement = adapted.prepare(sql);
      if (statement.reader) return statement.all(parameters);
      statement.run(parameters);
      return [];
    },
    log: `${file}-wal`,
    commit: (sync) => {
      if (sync === current) return;
      // Not through Kysely: this pragma takes effect when it is compiled, so a cached statement would do nothing.
      database.exec(`pragma synchronous = ${SYNCHRONOUS[sync]}`);
      current = sync;
    },
  };
}

/** SQLite gives its log the file mode of the database. An older Callboard may have created one that others can read. */
function makePrivate(file: string): void {
  const isLog = file.endsWith('-wal') || file.endsWith('-shm');
  if (!existsSync(file)) {
    if (!isLog) closeSync(openSync(file, 'a', 0o600));
  } else if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
}

const MAX_STATEMENTS = 300;
const NOTHING = { changes: 0n, lastInsertRowid: 0n };

function adapt(database: DatabaseSync): SqliteDatabase {
  const statements = retainRecent(MAX_STATEMENTS, (sql) => adaptStatement(database, sql));
  return {
    close: () => {
      statements.clear();
      database.close();
    },
    prepare: statements.get,
  };
}

function adaptStatement(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(bindable)),
    run: (parameters) => {
      // SQLite has already rolled back if the disk is full; the error of a second rollback would hide the first.
      if (sql === 'rollback' && !database.isTransaction) return NOTHING;
      if (sql === 'commit') mark('commit begun');
      const { changes, lastInsertRowid } = statement.run(...parameters.map(bindable));
      return { changes: BigInt(changes), lastInsertRowid: BigInt(lastInsertRowid) };
    },
    iterate: (parameters) => statement.iterate(...parameters.map(bindable)),
  };
}

function bindable(value: unknown): SQLInputValue {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${typeof value} cannot be stored; convert it first`);
}

/**
 * Keeps the values that were asked for last. A start that migrates the store asks for hundreds of statements that nobody asks for
 * again: were they kept for good, nothing of what runs all day would be.
 */
export function retainRecent<Value>(most: number, make: (key: string) => Value) {
  const saved = new Map<string, Value>();
  return {
    /** Makes the value if it is not kept. */
    get(key: string): Value {
      const value = saved.get(key) ?? make(key);
      saved.delete(key); // what is set again is the newest
      saved.set(key, value);
      if (saved.size > most) saved.delete(saved.keys().next().value ?? '');
      return value;
    },
    clear: () => saved.clear(),
  };
}

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

/**
 * Restarts the event log with unused numbers: skips more than can be used within the second or so that a power cut
 * loses. A client that asks for events after an older number is told to load the board again.
 */
export const newEpoch: readonly string[] = [
  'delete from events',
  `update sqlite_sequence set seq = seq + 1000000000 where name = 'events'`,
];

/**
 * Begins a new epoch when the store is first opened under another boot id: after a power cut the log may lack events
 * that clients have already received. So no number is used for two events.
 * @param bootId null if the system does not report one; every opening may follow a power cut then
 */
export async function beginEpoch(db: Database, bootId: string | null): Promise<void> {
  const known = await db.selectFrom('boot').select('id').executeTakeFirst();
  if (known !== undefined && known.id === bootId) return;
  await db.deleteFrom('boot').execute();
  const id = bootId ?? 'not known';
  await db.insertInto('boot').values({ id }).execute();
  if (known === undefined) return; // a new store, or one from when every commit was synced
  for (const statement of newEpoch) await sql.raw(statement).execute(db);
}

/**
 * Brings a database up to date.
 * @throws OperationalError `database_newer` if a newer Callboard wrote it
 */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db);
  const version = rows[0]?.user_version ?? 0;
  const text = newerThanThis(version);
  if (text !== null) throw new OperationalError('database_newer', text);
  for (const migration of migrations.filter(({ id }) => id > version)) {
    await db.transaction().execute(async (trx) => {
      for (const statement of statementsFor('sqlite', migration)) await sql.raw(statement).execute(trx);
      await sql.raw(`pragma user_version = ${migration.id}`).execute(trx);
    });
  }
}

/** Says so if a newer Callboard has written a database of this version; null otherwise. */
export function newerThanThis(version: number): string | null {
  const newest = migrations.at(-1)?.id ?? 0;
  return version > newest
    ? `The database was written by a newer Callboard (version ${version}, this one knows ${newest}). Start the newer one, or use another --data-dir.`
    : null;
}
