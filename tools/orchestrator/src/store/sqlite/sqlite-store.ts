import { join } from 'node:path';
import type { BoardEvent } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf } from '@callboard/runtime/errors';
import { mark } from '@callboard/runtime/marks';
import { createReconciler } from '@callboard/runtime/reconciler';
import { Kysely, sql, type Transaction } from 'kysely';
import { createYield } from '../../lib/async.ts';
import { OperationalError } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { SearchIndex } from '../search/search-text.ts';
import { openThreadedIndex, type ThreadedIndexDeps } from '../search/threaded-index.ts';
import { createRowCaches } from '../sql/cached-rows.ts';
import { appendEvent } from '../sql/event-tables.ts';
import { runAtOnce } from '../sql/prepared.ts';
import type { Schema } from '../sql/schema.ts';
import { StoreTables } from '../sql/tables.ts';
import {
  createBatcher,
  createDraft,
  createSubscribers,
  readBoard,
  readBoardOf,
  type Subscribers,
} from '../sql/transactions.ts';
import { isDamage, storageErrorOf, storageFailed } from '../storage-error.ts';
import type { CommitOptions, CommitSync, Store, Tables, Tx } from '../store.ts';
import { beginEpoch, createDiskSync, type DiskSync, migrate, openSqliteFile, type SqliteFile } from './node-sqlite.ts';
import type { SearchFiles } from './search-files.ts';

/**
 * Opens the store in one SQLite file and brings it up to date.
 * @throws OperationalError `database_newer` if a newer Callboard wrote it, `database_damaged` if it is damaged,
 *   `storage_failed` if it cannot be opened or written
 */
export async function openSqliteStore(
  file: string,
  platform: Platform,
  log: Logger,
  diskPauseReason: Tx['diskPauseReason'] = () => null,
): Promise<Store> {
  let db: Kysely<Schema> | undefined;
  try {
    const opened = openSqliteFile(file);
    db = new Kysely<Schema>({ dialect: opened.dialect });
    await requireIntact(db, file);
    await migrate(db);
    const bootId = await platform.bootId();
    await db.transaction().execute((trx) => beginEpoch(trx, bootId));
    return createStore({ db, file: opened, platform, log, diskPauseReason });
  } catch (error) {
    await db?.destroy();
    throw cannotOpen(file, error);
  }
}

function damaged(file: string, cause: unknown): OperationalError {
  const advice = `Restore a backup (callboard restore), or move ${file} aside to start with an empty board.`;
  return new OperationalError('database_damaged', `The database ${file} is damaged: ${messageOf(cause)}. ${advice}`, {
    cause,
  });
}

function cannotOpen(file: string, error: unknown): unknown {
  if (isDamage(error)) return damaged(file, error);
  const storageError = storageErrorOf(error);
  if (storageError === null) return error;
  return new OperationalError('storage_failed', `The store ${file} cannot be opened: ${storageError.text}`, {
    cause: error,
  });
}

async function requireIntact(db: Kysely<Schema>, file: string): Promise<void> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(db);
  const found = rows[0]?.quick_check;
  if (found !== 'ok') throw damaged(file, found);
}

interface StoreDeps {
  db: Kysely<Schema>;
  file: SqliteFile;
  platform: Platform;
  log: Logger;
  diskPauseReason: Tx['diskPauseReason'];
}

type RowCaches = ReturnType<typeof createRowCaches>;

function createStore({ db, file, platform, log, diskPauseReason }: StoreDeps): Store {
  const known = createRowCaches();
  const subscribers = createSubscribers(log);
  const disk = createDiskSync({ log: file.log, platform, onFailure: subscribers.reportWrite });
  const writer: Writer = { db, file, platform, diskPauseReason, known, subscribers, disk };
  const queue = createWriteQueue(disk, subscribers);
  const batch = createBatcher((work) => queue.add(() => runTransaction(writer, work, { sync: 'later' })));
  const foreign = watchForeignCommits(db);
  const { onEvent, onGiven, onUnsynced, onWrite } = subscribers;
  return {
    transact: (work, options) =>
      options?.batch ? batch(work) : queue.add(() => runTransaction(writer, work, options)),
    sync: (first = []) => disk.sync(first, () => queue.add(() => db.connection().execute(disk.checkpoint))),
    probe: () =>
      queue.add(async () => {
        await begin(writer, 'now', (trx) => sql`update counters set value = value`.execute(trx));
      }),
    read: new StoreTables(db, known.committed),
    board: () => readInOne(db, known, readBoard),
    boardOf: (stageId) => readInOne(db, known, (all) => readBoardOf(all, stageId)),
    onGiven,
    onEvent,
    onUnsynced,
    onWrite,
    onForeignCommit: foreign.listen,
    onEpoch: () => () => undefined,
    close: async () => {
      await foreign.stop();
      await queue.idle();
      await db.destroy();
    },
  };
}

const FOREIGN_CHECK_INTERVAL_MS = 1_000;

/** One process has the file, so nobody else should ever commit to it. SQLite counts the commits of other connections. */
function watchForeignCommits(db: Kysely<Schema>) {
  const foreign = createEmitter();
  let last: number | undefined;

  async function check(): Promise<void> {
    checks.scheduleIn(FOREIGN_CHECK_INTERVAL_MS);
    const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(db);
    const version = rows[0]?.data_version;
    const isForeign = last !== undefined && version !== last;
    last = version;
    if (isForeign) foreign.emit();
  }

  const checks = createReconciler(check, () => undefined); // a store that cannot be read says so elsewhere
  return {
    listen(listener: () => void): () => void {
      checks.schedule(); // from the first listener on
      return foreign.subscribe(listener);
    },
    stop: checks.stop,
  };
}

/** Runs writes one after another. Reports after each whether the store could write. */
function createWriteQueue(disk: DiskSync, { reportWrite }: Subscribers) {
  const yieldToEventLoop = createYield();
  let last: Promise<unknown> = Promise.resolve();

  async function attempt<T>(write: () => Promise<T>): Promise<T> {
    await yieldToEventLoop();
    try {
      const written = await write();
      if (!disk.isDoubtful()) reportWrite(null);
      return written;
    } catch (error) {
      const storageError = storageErrorOf(error);
      if (storageError === null) throw error;
      if (storageError.isDoubtful) disk.doubt();
      reportWrite(storageError);
      throw storageFailed(storageError, error);
    }
  }

  return {
    add<T>(write: () => Promise<T>): Promise<T> {
      const result = last.then(() => attempt(write));
      last = result.catch(() => undefined);
      return result;
    },
    idle: () => last,
  };
}

interface Writer extends Omit<StoreDeps, 'log'> {
  known: RowCaches;
  subscribers: Subscribers;
  disk: DiskSync;
}

/** Stays on one connection, because the sync mode of a commit is a setting of the connection. */
function begin<T>(
  { db, file, disk }: Writer,
  sync: CommitSync,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (connection) => {
    if (sync === 'now' && disk.isDoubtful()) await disk.checkpoint(connection);
    file.commit(sync);
    return connection.transaction().execute((trx) => {
      const stop = runAtOnce(trx, file.execute);
      return work(trx).finally(stop);
    });
  });
}

/** Runs and commits `work`, then notifies: first the writers, then the event listeners, then the hints. */
async function runTransaction<T>(
  writer: Writer,
  work: (tx: Tx) => Promise<T>,
  { sync = 'now' }: CommitOptions = {},
): Promise<T> {
  const { known, subscribers, disk } = writer;
  const rows = known.begin();
  const draft = createDraft(writer, sync);
  const events: BoardEvent[] = [];
  const result = await begin(writer, sync, async (trx) => {
    const tx = draft.txOn(trx, rows);
    const done = await work(tx);
    for (const event of draft.events()) events.push(await appendEvent(trx, event, tx.now));
    return done;
  });
  mark('committed');
  rows.commit();
  if (sync === 'later') {
    disk.countUnsynced();
    subscribers.reportUnsynced();
    // It is committed: a failed sync is reported and retried, and is no reason to run the transaction again.
    if (draft.isSynced()) await disk.syncLog().catch(() => undefined);
  }
  subscribers.give(draft.given);
  subscribers.publish(events);
  subscribers.run(draft.hints);
  return result;
}

/** Reads in one transaction. No other one runs meanwhile, so the rows it reads can be cached. */
function readInOne<T>(db: Kysely<Schema>, caches: RowCaches, read: (all: Tables) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    const rows = caches.begin();
    const found = await read(new StoreTables(trx, rows));
    rows.commit();
    return found;
  });
}

const entry = import.meta.filename.endsWith('.ts') ? 'search-worker.ts' : 'search-worker.js';

/** Keeps the index in a file of its own, written by a thread of its own. */
export const openSqliteSearchIndex = ({
  files,
  ...parts
}: Omit<ThreadedIndexDeps, 'thread'> & { files: SearchFiles }): SearchIndex =>
  openThreadedIndex({ thread: { file: join(import.meta.dirname, entry), data: files }, ...parts });
