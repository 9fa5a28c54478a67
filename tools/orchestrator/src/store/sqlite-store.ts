import type { BoardEvent, LaunchId, NewEvent } from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import { Kysely, sql, type Transaction } from 'kysely';
import { forEachAtOnce } from '../lib/at-once.ts';
import { createBreath } from '../lib/breath.ts';
import type { Edges } from '../lib/edges.ts';
import { messageOf, OperationalError, systemCode } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { beginEpoch } from './epoch.ts';
import { createKnownSessions } from './known-sessions.ts';
import { migrations } from './migrations.ts';
import { type CommitSync, openSqliteFile, type SqliteFile } from './node-sqlite.ts';
import { runAtOnce } from './prepared.ts';
import type { OutboxRow } from './records.ts';
import type { Schema } from './schema.ts';
import { isDamage, type StorageTrouble, storageFailed, troubleOf, troubleOfSync } from './storage-failure.ts';
import { type CommitOptions, readBoard, readBoardOf, type Store, type Tables, type Tx, tables } from './store.ts';
import type { GivenRows } from './tables/outbox.ts';
import { createTogether } from './together.ts';

/** What an event tells the whole of, so that the newest one of a transaction stands for all; null where each counts. */
function subjectOf({ type, data }: NewEvent): string | null {
  if (type === 'session-updated') return `${type} ${data.stageId}`;
  return type === 'decision-updated' ? `${type} ${data.stageId} ${data.requestId}` : null;
}

function withoutOvertaken(events: readonly NewEvent[]): NewEvent[] {
  const newest = new Map(events.map((event) => [subjectOf(event), event]));
  return events.filter((event) => subjectOf(event) === null || newest.get(subjectOf(event)) === event);
}

/**
 * The store in one SQLite file, brought up to date first.
 * @throws OperationalError `database_newer` when a newer Callboard wrote it, `database_damaged` when it does not hold
 *   together, `storage_failed` when it cannot be opened or written
 */
export async function openSqliteStore(
  file: string,
  edges: Edges,
  log: Logger,
  diskPauseReason: Tx['diskPauseReason'] = () => null,
): Promise<Store> {
  let db: Kysely<Schema> | undefined;
  try {
    const opened = openSqliteFile(file);
    db = new Kysely<Schema>({ dialect: opened.dialect });
    await requireIntact(db, file);
    await migrate(db);
    const bootId = await edges.bootId();
    await db.transaction().execute((trx) => beginEpoch(trx, bootId));
    return createStore(db, opened, edges, log, diskPauseReason);
  } catch (error) {
    await db?.destroy();
    throw cannotOpen(file, error);
  }
}

function damaged(file: string, cause: unknown): OperationalError {
  const advice = `Restore a backup (callboard restore), or move ${file} aside to begin with an empty board.`;
  return new OperationalError('database_damaged', `The database ${file} is damaged: ${messageOf(cause)}. ${advice}`, {
    cause,
  });
}

function cannotOpen(file: string, error: unknown): unknown {
  if (isDamage(error)) return damaged(file, error);
  const trouble = troubleOf(error);
  if (trouble === null) return error;
  return new OperationalError('storage_failed', `The store ${file} cannot be opened: ${trouble.words}`, {
    cause: error,
  });
}

async function requireIntact(db: Kysely<Schema>, file: string): Promise<void> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(db);
  const found = rows[0]?.quick_check;
  if (found !== 'ok') throw damaged(file, found);
}

async function migrate(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db);
  const version = rows[0]?.user_version ?? 0;
  const newest = migrations.at(-1)?.id ?? 0;
  if (version > newest) {
    throw new OperationalError(
      'database_newer',
      `The database was written by a newer Callboard (version ${version}, this one knows ${newest}). Start the newer one, or use another --data-dir.`,
    );
  }
  for (const { id, statements } of migrations.filter((migration) => migration.id > version)) {
    await db.transaction().execute(async (trx) => {
      for (const statement of statements) await sql.raw(statement).execute(trx);
      await sql.raw(`pragma user_version = ${id}`).execute(trx);
    });
  }
}

/** Few: each holds one of the four threads that read files as well. */
const SYNCS_AT_ONCE = 2;

function createStore(
  db: Kysely<Schema>,
  file: SqliteFile,
  edges: Edges,
  log: Logger,
  diskPauseReason: Tx['diskPauseReason'],
): Store {
  const listeners = new Set<(event: BoardEvent) => void>();
  const known = createKnownSessions();
  const takers = new Map<LaunchId, (rows: readonly OutboxRow[]) => void>();
  const writeListeners = new Set<(trouble: StorageTrouble | null) => void>();
  const unsyncedListeners = new Set<() => void>();
  let last: Promise<unknown> = Promise.resolve();
  /** How many transactions were committed without a sync of their own, and how many of them certainly are on disk. */
  let committed = 0;
  let onDisk = 0;
  /** A sync has failed, and nothing has yet made sure that what came before is on disk. */
  let isDoubtful = false;
  const breath = createBreath();
  const together = createTogether((work) => inTurn(() => run(work, { sync: 'later' })));

  /** What is committed is committed: whoever fails to hear of it is no reason to call the transaction failed. */
  function tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      log.error({ err: error }, 'a listener failed after a commit');
    }
  }

  function handOver(given: GivenRows): void {
    const inOrder = [...given.values()].toSorted((a, b) => a.ordinal - b.ordinal);
    for (const [launchId, rows] of Map.groupBy(inOrder, (row) => row.launchId)) {
      const take = launchId === null ? undefined : takers.get(launchId);
      if (take !== undefined) tell(() => take(rows));
    }
  }

  const tellWrite = (trouble: StorageTrouble | null) => {
    for (const listener of writeListeners) tell(() => listener(trouble));
  };

  /** On one connection, since how a transaction is committed is a setting of its connection. */
  function transaction<T>(sync: CommitSync, work: (trx: Transaction<Schema>) => Promise<T>): Promise<T> {
    return db.connection().execute(async (connection) => {
      if (sync === 'now' && isDoubtful) await checkpoint(connection);
      file.commit(sync);
      return connection.transaction().execute((trx) => {
        const stop = runAtOnce(trx, file.execute);
        return work(trx).finally(stop);
      });
    });
  }

  /**
   * Writes all commits into the database file itself and syncs that. After a failed sync the system may hold pages of
   * the log for written that never were, so that syncing the log again proves nothing.
   */
  async function checkpoint(connection: Kysely<Schema>): Promise<void> {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(connection);
    if (rows[0]?.busy !== 0) throw storageFailed(troubleOfSync('another process reads the database'), null);
    isDoubtful = false;
  }

  async function run<T>(work: (tx: Tx) => Promise<T>, { sync = 'now' }: CommitOptions = {}): Promise<T> {
    const given: GivenRows = new Map();
    const sessions = known.begin();
    const emitted: NewEvent[] = [];
    const events: BoardEvent[] = [];
    const hints: (() => void)[] = [];
    let isSyncedFirst = sync === 'now';
    const result = await transaction(sync, async (trx) => {
      const now = edges.now().toISOString();
      const all = tables(trx, sessions, given);
      const done = await work({
        ...all,
        now,
        diskPauseReason,
        newId: edges.newId,
        newWireId: edges.newWireId,
        emit: async (event) => void emitted.push(event),
        afterCommit: (hint) => hints.push(hint),
        syncFirst: () => {
          isSyncedFirst = true;
        },
      });
      for (const event of withoutOvertaken(emitted)) events.push(await all.events.append(event, now));
      return done;
    });
    mark('committed');
    sessions.commit();
    if (sync === 'later') {
      committed++;
      for (const listener of unsyncedListeners) tell(listener);
      // It is committed, so that a sync that fails is told and tried again, and not a reason to do it anew.
      if (isSyncedFirst) await syncFiles([file.log]).catch(() => undefined);
    }
    handOver(given);
    for (const event of events) for (const listener of listeners) tell(() => listener(event));
    for (const hint of hints) tell(hint);
    return result;
  }

  /** No transaction runs meanwhile, so what is read is kept. */
  function readTogether<T>(read: (all: Tables) => Promise<T>): Promise<T> {
    return db.transaction().execute(async (trx) => {
      const sessions = known.begin();
      const found = await read(tables(trx, sessions));
      sessions.commit();
      return found;
    });
  }

  /** Writes one after another; tells whether the store could write, and words it if not. */
  function inTurn<T>(write: () => Promise<T>): Promise<T> {
    const result = last.then(async () => {
      await breath();
      try {
        const written = await write();
        if (!isDoubtful) tellWrite(null);
        return written;
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === null) throw error;
        isDoubtful ||= trouble.isDoubtful;
        tellWrite(trouble);
        throw storageFailed(trouble, error);
      }
    });
    last = result.catch(() => undefined);
    return result;
  }

  async function sync(first: readonly string[] = []): Promise<void> {
    const until = committed;
    if (onDisk >= until) return;
    await syncFiles(first);
    if (isDoubtful) await inTurn(() => db.connection().execute(checkpoint));
    else await syncFiles([file.log]);
    onDisk = Math.max(onDisk, until);
  }

  async function syncFiles(paths: readonly string[]): Promise<void> {
    try {
      await forEachAtOnce(paths, SYNCS_AT_ONCE, async (path) => {
        await edges.syncFile(path).catch((error: unknown) => {
          if (path === file.log || systemCode(error) !== 'ENOENT') throw error;
        });
      });
    } catch (error) {
      isDoubtful = true;
      const trouble = troubleOfSync(error);
      tellWrite(trouble);
      throw storageFailed(trouble, error);
    }
  }

  return {
    transact: (work, options) => (options?.together ? together(work) : inTurn(() => run(work, options))),
    sync,
    probe: () =>
      inTurn(() => transaction('now', (trx) => sql`update counters set value = value`.execute(trx))).then(
        () => undefined,
      ),
    read: tables(db, known.committed),
    board: () => readTogether(readBoard),
    boardOf: (stageId) => readTogether((all) => readBoardOf(all, stageId)),
    onGiven: (launchId, take) => {
      takers.set(launchId, take);
      return () => {
        if (takers.get(launchId) === take) takers.delete(launchId);
      };
    },
    onEvent: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onUnsynced: (listener) => {
      unsyncedListeners.add(listener);
      return () => unsyncedListeners.delete(listener);
    },
    onWrite: (listener) => {
      writeListeners.add(listener);
      return () => writeListeners.delete(listener);
    },
    close: async () => {
      await last;
      await db.destroy();
    },
  };
}
