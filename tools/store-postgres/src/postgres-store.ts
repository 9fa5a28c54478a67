import { join } from 'node:path';
import type { LaunchId } from '@callboard/contract';
import { openThreadedIndex, type SearchIndex } from '@callboard/orchestrator/search';
import {
  DatabaseUnreachable,
  type StorageError,
  storageErrorOf,
  storageFailed,
} from '@callboard/orchestrator/storage-error';
import {
  type CommitOptions,
  createBatcher,
  createDraft,
  createRowCaches,
  createSubscribers,
  createYield,
  type Database,
  NOTHING_CACHED,
  OperationalError,
  type OutboxState,
  type OutboxTable,
  outboxTable,
  type Platform,
  type RowCaches,
  readBoard,
  readBoardOf,
  runOn,
  type Schema,
  type SharedIndexOptions,
  type SharedStore,
  type SharedStoreOptions,
  type Store,
  StoreTables,
  type Subscribers,
  type Tables,
  type Tx,
  type Wire,
} from '@callboard/orchestrator/store';
import { nameOfDatabase } from '@callboard/runtime/database-url';
import { mark } from '@callboard/runtime/marks';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import {
  beginning,
  closing,
  createCutCommits,
  createPassOn,
  createSeenLaunches,
  type Done,
  type Fence,
  type Moment,
  type PassOn,
  type SeenLaunches,
  watchForLoss,
} from './commits.ts';
import {
  createReadPool,
  createServerSync,
  kyselyOn,
  type LinkConnection,
  listenForUpdates,
  maintainLink,
  nameOf,
  type ReadPool,
  type Transactions,
} from './links.ts';
import { beginEpoch, migrate, requireKnownVersion } from './migrate.ts';
import { type Connect, createConnect, createServerHistory, type PgLink } from './pg-link.ts';

/**
 * Opens the store in a PostgreSQL database and brings it up to date.
 * @throws OperationalError `database_newer` if a newer Callboard wrote it, `storage_failed` if it cannot be reached or written
 */
export async function openPostgresStore(options: SharedStoreOptions): Promise<SharedStore> {
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
  { platform, log, diskPauseReason = () => null, onCommitsLost = () => undefined }: SharedStoreOptions,
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

/** The tables for reads outside of write transactions. Notes which launches had their accepted rows listed, and as of which commit. */
class SharedReads extends StoreTables {
  private readonly own: OutboxTable;

  constructor({ db }: { db: Database }, caches: RowCaches, seen?: SeenLaunches) {
    super(db, caches);
    this.own = seen === undefined ? outboxTable(db, caches.queued) : notingOutbox(db, seen);
  }

  override get outbox() {
    return this.own;
  }
}

function notingOutbox(db: Database, seen: SeenLaunches): OutboxTable {
  return {
    ...outboxTable(db, NOTHING_CACHED.queued),
    listOf: (launchId: LaunchId, states: readonly OutboxState[]) =>
      db.transaction().execute(async (trx) => {
        const state = await trx.selectFrom('cluster_state').select('commit').executeTakeFirstOrThrow();
        const rows = await outboxTable(trx, NOTHING_CACHED.queued).listOf(launchId, states);
        if (states.includes('accepted')) seen.note(launchId, state.commit);
        return rows;
      }),
  };
}

/** A transaction that was run. `result` stays open while it is not known what became of the commit. */
export interface Run<T> {
  result: Promise<T>;
  storageError: StorageError | null;
}

interface WriterDeps {
  connection: () => LinkConnection;
  passOn: () => PassOn;
  platform: Platform;
  diskPauseReason: Tx['diskPauseReason'];
  subscribers: Subscribers;
  /** Names this process in the database. */
  writerId: string;
  onUnsynced: () => void;
}

const State = z.object({ commit: z.int(), seq: z.int() });
const Epoch = z.object({ epoch: z.int() });

/** What is known of the transaction that runs. */
interface Step extends Done {
  hasWritten: boolean;
  isCommitting: boolean;
}

interface WriterState {
  fence: Fence | null;
  /** Null while none runs. */
  step: Step | null;
}

/** Runs write transactions, one at a time over all machines: each begins by locking the one row of `cluster_state`. */
function createWriter(deps: WriterDeps) {
  const { writerId } = deps;
  const known = createRowCaches();
  /** The number of the commit whose state is cached. */
  let cachedAt = -1;
  let newest = 0;
  const state: WriterState = { fence: null, step: null };
  const cut = createCutCommits(writerId, (done) => deps.passOn().alone(() => notifyOf(done, deps)));
  const databaseOn = databasesOf(state, deps);

  async function run<T>(work: (tx: Tx) => Promise<T>, { sync = 'now' }: CommitOptions = {}): Promise<Run<T>> {
    const link = await deps.connection().link();
    const now: Step = {
      draft: createDraft(deps, sync),
      begun: { commit: 0, seq: 0 },
      hasWritten: false,
      isCommitting: false,
      commit: 0,
      events: [],
    };
    state.step = now;
    let result: { value: T } | undefined;
    const rows = known.begin();
    try {
      await databaseOn(link)
        .transaction()
        .execute(async (trx) => {
          if (now.begun.commit !== cachedAt) known.clear();
          cachedAt = now.begun.commit;
          const stop = runOn(trx, wireOf(link, now));
          const tx = now.draft.txOn(trx, rows);
          result = { value: await work(tx).finally(stop) };
          now.events = now.draft.events().map((event, at) => ({ ...event, seq: now.begun.seq + 1 + at, at: tx.now }));
          now.commit = now.begun.commit + (now.hasWritten || now.events.length > 0 ? 1 : 0);
        });
    } catch (error) {
      if (!now.isCommitting || !link.isBroken() || result === undefined || now.commit === now.begun.commit) throw error;
      cachedAt = -1;
      return { result: cut.later(now, result.value, error), storageError: storageErrorOf(error) };
    } finally {
      state.step = null;
    }
    if (result === undefined) throw new Error('the work has not run');
    rows.commit();
    cachedAt = now.commit;
    newest = Math.max(newest, now.commit);
    return { result: Promise.resolve(result.value), storageError: null };
  }

  return {
    run,
    /** The newest commit of this process. */
    newest: () => newest,
    setFence(wanted: Fence): void {
      state.fence = wanted;
    },
    greet: cut.greet,
    hasUnknown: cut.isOpen,
    giveUp: cut.giveUp,
  };
}

/** Returns the function that makes Kysely run the writer's transactions on a connection. */
function databasesOf(state: WriterState, deps: WriterDeps): (link: PgLink) => Kysely<Schema> {
  const databases = new WeakMap<PgLink, Kysely<Schema>>();
  const current = (): Step => {
    if (state.step === null) throw new Error('no transaction runs');
    return state.step;
  };
  const transactions: Transactions = {
    async begin(link) {
      try {
        current().begun = await begin(link, state.fence);
      } catch (error) {
        await link.rollback();
        throw error;
      }
    },
    commit: (link) =>
      deps.passOn().alone(async () => {
        const step = current();
        // The connection that follows may be there already, and would never be asked what became of this commit.
        if (link.isBroken()) throw new DatabaseUnreachable('the connection broke before the commit');
        step.isCommitting = true;
        const hasUpdates = step.commit > step.begun.commit;
        mark('commit begun');
        const results = await link.queryAll(hasUpdates ? closing(step, deps.writerId) : 'commit');
        if (results.at(-1)?.command !== 'COMMIT') throw new Error('a statement of the transaction had failed');
        mark('committed');
        await notifyOf(step, deps);
      }),
    rollback: (link) => link.rollback(),
  };
  return (link) => {
    const links = { acquire: async () => link, release: () => undefined, replace: null };
    const made =
      databases.get(link) ??
      kyselyOn(links, transactions, () => {
        current().hasWritten = true;
      });
    databases.set(link, made);
    return made;
  };
}

/** Prepared queries of a transaction on its connection. */
const wireOf = (link: PgLink, step: Step): Wire => ({
  async ask(text, values, isWrite) {
    step.hasWritten ||= isWrite;
    return (await link.query({ text, values, ...nameOf(text) })).rows;
  },
  send(text, values) {
    step.hasWritten = true;
    link.queryLater({ text, values, ...nameOf(text) });
  },
});

async function begin(link: PgLink, fence: Fence | null): Promise<Moment> {
  const [, found, machine] = await link.queryAll(beginning(fence));
  requireKnownVersion(found?.rows[0]);
  const { commit, seq } = State.parse(found?.rows[0]);
  if (fence !== null && Epoch.safeParse(machine?.rows[0]).data?.epoch !== fence.epoch) throw leaseLost();
  return { commit, seq };
}

/** Tells of what was committed: rows to their launches, then events, then hints. Call within `alone`. */
async function notifyOf(
  { commit, begun, draft, events }: Done,
  { passOn: givenPassOn, subscribers, onUnsynced }: Pick<WriterDeps, 'passOn' | 'subscribers' | 'onUnsynced'>,
): Promise<void> {
  const passOn = givenPassOn();
  if (!draft.isSynced()) {
    onUnsynced();
    subscribers.reportUnsynced();
  }
  // If the commits of others cannot be read now, the next look passes on theirs and this one.
  if (!passOn.isUpTo(begun)) await passOn.passOnUntil(begun).catch(() => undefined);
  if (commit > begun.commit) {
    if (passOn.isUpTo(begun)) passOn.own(commit, draft.given, events);
    else passOn.ownLater(commit, draft.given);
  }
  subscribers.run(draft.hints);
}

const leaseLost = () =>
  new OperationalError(
    'lease_lost',
    'Another machine has taken over what this one did, so this could not be stored. Restart Callboard on this machine.',
  );

const entry = import.meta.filename.endsWith('.ts') ? 'shared-search-worker.ts' : 'shared-search-worker.js';

/** What the thread is told at its start. */
export type IndexThreadData = Required<Pick<SharedIndexOptions, 'address' | 'historyFile'>>;

/** Keeps the index in tables of the shared store, written by whichever machine comes first, in a thread with a connection of its own. */
export const openPostgresSearchIndex = ({ address, historyFile = null, ...parts }: SharedIndexOptions): SearchIndex =>
  openThreadedIndex({
    thread: { file: join(import.meta.dirname, entry), data: { address, historyFile } satisfies IndexThreadData },
    mayGrow: () => true, // the disk is the server's, which says so when it is full
    ...parts,
  });
