import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { mark } from '@callboard/runtime/marks';
import { type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely';
import { retainRecent } from '../keep-recent.ts';
import type { Execute } from '../sql/prepared.ts';
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
