import type { LaunchId } from '@callboard/contract';
import { type DatabaseAddress, nameOfDatabase } from '@callboard/runtime/database-url';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { createYield } from '../../lib/breath.ts';
import type { Platform } from '../../lib/edges.ts';
import { OperationalError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRowCaches, NOTHING_CACHED } from '../sql/known-rows.ts';
import { readBoard, readBoardOf } from '../sql/read-board.ts';
import { createSubscribers, type Subscribers } from '../sql/subscribers.ts';
import { createBatcher } from '../sql/together.ts';
import { type StorageError, storageErrorOf, storageFailed } from '../storage-failure.ts';
import type { Store, Tables, Tx } from '../store.ts';
import { beginEpoch } from './begin-epoch.ts';
import type { Fence } from './commit-statements.ts';
import { type LinkConnection, maintainLink } from './keep-link.ts';
import { listenForUpdates } from './listen-for-news.ts';
import { watchForLoss } from './lost-commits.ts';
import { migrate, requireKnownVersion } from './migrate.ts';
import { createPassOn, type PassOn } from './pass-on.ts';
import { type Connect, createConnect } from './pg-link.ts';
import { createReadPool, type ReadPool } from './read-pool.ts';
import { createSeenLaunches } from './seen-launches.ts';
import { createServerHistory } from './server-history.ts';
import { createServerSync } from './server-sync.ts';
import { SharedReads } from './shared-reads.ts';
import { createWriter, type Run } from './write-transaction.ts';

export interface PostgresStoreOptions {
  address: DatabaseAddress;
  platform: Platform;
  log: Logger;
  diskPauseReason?: Tx['diskPauseReason'];
  /** Where the newest timeline is kept; without it, for as long as this process lives. */
  historyFile?: string;
  /**
   * Called when commits are gone that this process knows of: they were not synced, and the server crashed. What the process remembers is
   * ahead of the store then, which refuses to work for it: it has to start again, and reads from its spools what is missing.
   */
  onCommitsLost?: () => void;
}

/** A store that several machines share. */
export interface SharedStore extends Store {
  /** Refuses all further writes with `lease_lost` as soon as the machine has another epoch in the database. */
  fenceWith(fence: Fence): void;
}

/**
 * Opens the store in a PostgreSQL database and brings it up to date.
 * @throws OperationalError `database_newer` if a newer Callboard wrote it, `storage_failed` if it cannot be reached or written
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<SharedStore> {
  const { address, historyFile: path, log } = options;
  const connect = createConnect(address, createServerHistory(path === undefined ? null : { path, writer: log }));
  try {
    const link = await connect();
    await migrate(link).finally(() => link.end());
    return await createStore(connect, options);
  } catch (error) {
    const storageError = storageErrorOf(error);
    if (storageError === null) throw error;
    const message = `The store ${nameOfDatabase(address)} cannot be opened: ${storageError.text}`;
    throw new OperationalError('storage_failed', message, { cause: error });
  }
}

/** How long closing waits for transactions that run and wait, and for those to fail once their connection is cut. */
const CLOSE_MS = 2_000;
const CUT_MS = 500;

async function createStore(
  connect: Connect,
  { platform, log, diskPauseReason = () => null, onCommitsLost = () => undefined }: PostgresStoreOptions,
): Promise<SharedStore> {
  const subscribers = createSubscribers(log);
  const pool = createReadPool(connect);
  const sync = createServerSync(pool, platform, subscribers.reportWrite);
  const seen = createSeenLaunches();
  const requireNothingLost = watchForLoss(pool.db, onCommitsLost);
  const writerId = platform.newId();
  let connection: LinkConnection | undefined;
  let passOn: PassOn | undefined;
  const writer = createWriter({
    platform,
    diskPauseReason,
    subscribers,
    writerId,
    onUnsynced: sync.countUnsynced,
    connection: () => required(connection),
    passOn: () => required(passOn),
  });
  connection = await maintainLink({
    connect,
    log,
    prepare: async (link) => {
      await beginEpoch(link);
      await requireNothingLost(Math.max(writer.newest(), passOn?.newest() ?? 0));
      await writer.greet(link);
    },
  });
  const from = await pool.db.selectFrom('cluster_state').select(['commit', 'seq']).executeTakeFirstOrThrow();
  passOn = createPassOn({ db: pool.db, subscribers, seen, log, requireNothingLost, from });
  const updates = listenForUpdates({ connect, check: passOn.check, isKnown: passOn.isKnown, log });
  const queue = createWriteQueue(subscribers);
  const transact: Store['transact'] = async (work, options) => {
    const { result } = await queue.add(() => writer.run(work, options));
    return result;
  };
  const batch = createBatcher((work) => transact(work, { sync: 'later' }));
  return {
    transact: (work, options) => (options?.batch ? batch(work) : transact(work, options)),
    sync: sync.sync,
    probe: () => queue.probe(() => required(connection).link()),
    read: new SharedReads(pool, NOTHING_CACHED, seen),
    board: () => readInOne(pool, readBoard),
    boardOf: (stageId) => readInOne(pool, (all) => readBoardOf(all, stageId)),
    onGiven: (launchId: LaunchId, take) => {
      const stop = subscribers.onGiven(launchId, take);
      return () => {
        stop();
        seen.forget(launchId);
      };
    },
    onEvent: subscribers.onEvent,
    onForeignCommit: passOn.onForeignCommit,
    onEpoch: passOn.onEpoch,
    onUnsynced: subscribers.onUnsynced,
    onWrite: subscribers.onWrite,
    fenceWith: writer.setFence,
    async close() {
      if (!(await settlesWithin(queue.idle(), CLOSE_MS))) {
        await required(connection).cut(); // what has not begun its commit is not stored
        if (!(await settlesWithin(queue.idle(), CUT_MS))) await pool.close(); // a commit may wait for a read
        await queue.idle();
      }
      await required(connection).close(writer.hasUnknown()); // a last connection tells what became of a commit
      writer.giveUp();
      await Promise.all([updates.stop(), pool.close()]); // a look for news may wait for the pool
    },
  };
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the store is not open yet');
  return value;
}

/** A write that takes so long is told before its time is over: a network that swallows everything, or a server that stands still, answers nobody. */
const SILENT_MS = 5_000;
const SILENT: StorageError = {
  isDiskFull: false,
  isDoubtful: false,
  isLasting: false,
  text: `the database has not answered for ${SILENT_MS / 1_000} s. Check its server and the network.`,
};

/** Runs writes one after another. Reports after each whether the store could write, and while one takes long that it cannot. */
function createWriteQueue({ reportWrite }: Subscribers) {
  const yieldToEventLoop = createYield();
  let last: Promise<unknown> = Promise.resolve();

  async function attempt<T>(write: () => Promise<Run<T>>): Promise<Run<T>> {
    await yieldToEventLoop();
    const silence = setTimeout(() => reportWrite(SILENT), SILENT_MS).unref();
    try {
      const run = await write().finally(() => clearTimeout(silence));
      reportWrite(run.storageError);
      return run;
    } catch (error) {
      const storageError = storageErrorOf(error);
      if (storageError === null) throw error;
      reportWrite(storageError);
      throw storageFailed(storageError, error);
    }
  }

  function add<T>(write: () => Promise<Run<T>>): Promise<Run<T>> {
    const result = last.then(() => attempt(write));
    last = result.catch(() => undefined);
    return result;
  }

  return {
    add,
    /** Writes the row that each writer locks, as it is, through to the disk. */
    async probe(link: LinkConnection['link']): Promise<void> {
      await add(async () => {
        const [row] = await (await link()).queryAll('update cluster_state set "commit" = "commit" returning version');
        requireKnownVersion(row?.rows[0]);
        return { result: Promise.resolve(undefined), storageError: null };
      });
    },
    idle: () => last,
  };
}

/** Reads one state of the database. What it reads may be outdated at once, so nothing is cached. */
const readInOne = <T>({ db }: ReadPool, read: (all: Tables) => Promise<T>): Promise<T> =>
  db.transaction().execute((trx) => read(new SharedReads({ db: trx }, createRowCaches().begin())));
