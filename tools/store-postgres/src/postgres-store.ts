import { join } from 'node:path';
import type { LaunchId, StageId } from '@callboard/contract';
import { openThreadedIndex, type SearchIndex } from '@callboard/orchestrator/search';
import {
  DatabaseUnreachable,
  type StorageError,
  storageErrorOf,
  storageFailed,
} from '@callboard/orchestrator/storage-error';
import {
  type CommitOptions,
  type CommitSync,
  createBatcher,
  createDraft,
  createRowCaches,
  createSubscribers,
  createYield,
  type Database,
  type Draft,
  NOTHING_CACHED,
  OperationalError,
  type OutboxState,
  type OutboxTable,
  outboxTable,
  type Platform,
  type RowCaches,
  readBoard,
  readBoardOf,
  rowsOfStages,
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
  type Locking,
  Moment,
  momentNow,
  momentOf,
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
    now: () => momentNow(pool.db),
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
  const from = await momentNow(pool.db);
  passOn = createPassOn({
    db: pool.db,
    subscribers,
    seen,
    log,
    requireNothingLost,
    hasUnknown: writer.hasUnknown,
    from,
  });
  const updates = listenForUpdates({ connect, check: passOn.check, isKnown: passOn.isKnown, log });
  const queue = createWriteQueue(subscribers);
  const transact: Store['transact'] = async (work, options) => {
    const { result } = await queue.add(() => writer.run(work, options));
    return result;
  };
  const batch = createBatcher(async (work) => (await queue.add(() => writer.runOfStages(work))).result, {
    transactAlone: (work, stage) => transact(work, { sync: 'later', ...(stage !== undefined && { stage }) }),
    mustRepeat: (error) => error instanceof MustRepeat,
  });
  const batchOf = <T>(work: (tx: Tx) => Promise<T>, stage?: StageId) =>
    batch(async (tx) => {
      await writer.requireOwn(tx, stage);
      return work(tx);
    }, stage);
  return {
    transact: (work, options) => (options?.batch ? batchOf(work, options.stage) : transact(work, options)),
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
  /** Returns the newest moment that is committed. */
  now: () => Promise<Moment>;
}

const Epoch = z.object({ epoch: z.int() });

/** What is known of the transaction that runs. */
interface Step extends Done {
  begun: Moment;
  /** The stages whose rows it may change, if its locking is `stages`. */
  stages: Set<StageId>;
  hasWritten: boolean;
  /** Its connection broke while it was committed. */
  isCut: boolean;
  /** Why it must not be committed, whatever its work makes of it; null if it may. */
  refused: unknown;
  /** Resolves when it is known how it has begun. Never rejects. */
  beginning: Promise<void>;
  /** Null until it is committed, and if it has written nothing. */
  committed: Moment | null;
}

interface WriterState {
  fence: Fence | null;
  /** Null while none runs. */
  step: Step | null;
}

/** A transaction of stages must run again: as it is, or alone. */
class MustRepeat extends Error {
  override name = 'MustRepeat';
  readonly locking: Locking;
  constructor(locking: Locking, why: string) {
    super(why);
    this.locking = locking;
  }
}

/** Tables whose rows belong to one stage each, and are changed for it by the machine that has it, or by whoever locks all. */
const OF_STAGES: ReadonlySet<string> = new Set([
  ...['sessions', 'launches', 'outbox', 'requests', 'transcript', 'capabilities', 'checks', 'phase_runs'],
  ...['side_runs', 'turn_marks', 'spending', 'announcements', 'deliveries'],
]);
const WRITES = /^(?:insert into|update|delete from) "(\w+)"/;

const NEVER: Moment = { commit: -1, seq: -1, alone: -1 };
const NOTHING: Moment = { commit: 0, seq: 0, alone: 0 };

/** Runs write transactions, one at a time. Those of other machines run beside them only if both are of stages: see `Locking`. */
function createWriter(deps: WriterDeps) {
  const { writerId } = deps;
  const known = createRowCaches();
  /** The moment whose state is cached. */
  let cachedAt = NEVER;
  let newest = 0;
  const state: WriterState = { fence: null, step: null };
  const cut = createCutCommits(writerId, (draft, commit) => {
    newest = Math.max(newest, commit);
    return deps.passOn().alone(() => notifyLater(draft, commit, deps));
  });
  const databaseOn = databasesOf(state, onBegun, deps);

  /**
   * A cache that was right at a moment is wrong since the next commit of another process; rows of own stages since it has locked all. A
   * transaction of stages has gone on with it meanwhile, and must run again.
   */
  function onBegun(now: Step, begun: Moment): void {
    now.begun = begun;
    const isStale = now.locking === 'all' ? begun.commit !== cachedAt.commit : begun.alone !== cachedAt.alone;
    if (!isStale) return;
    known.clear();
    cachedAt = begun;
    if (now.locking === 'stages')
      now.refused ??= new MustRepeat('stages', 'what it was begun with is not cached any more');
  }

  async function attempt<T>(work: (tx: Tx) => Promise<T>, sync: CommitSync, locking: Locking): Promise<Run<T>> {
    const link = await deps.connection().link();
    const now: Step = {
      draft: createDraft(deps, sync),
      locking,
      emitted: [],
      at: '',
      begun: NOTHING,
      stages: new Set(),
      hasWritten: false,
      isCut: false,
      refused: null,
      beginning: Promise.resolve(),
      committed: null,
    };
    state.step = now;
    let result: { value: T } | undefined;
    const rows = known.begin();
    try {
      await databaseOn(link)
        .transaction()
        .execute(async (trx) => {
          const caches = locking === 'all' ? rows : rowsOfStages(rows, (id) => now.stages.has(id));
          const stop = runOn(trx, wireOf(link, now));
          const tx = now.draft.txOn(trx, caches);
          result = { value: await work(tx).finally(stop) };
          now.emitted = now.draft.events();
          now.at = tx.now;
        });
    } catch (error) {
      await now.beginning;
      if (now.refused !== null) throw now.refused;
      if (!now.isCut || result === undefined) throw error;
      cachedAt = NEVER;
      return {
        result: cut.later({ draft: now.draft, after: newest }, result.value, error),
        storageError: storageErrorOf(error),
      };
    } finally {
      state.step = null;
    }
    if (result === undefined) throw new Error('the work has not run');
    rows.commit();
    const { committed } = now;
    if (committed !== null) {
      newest = committed.commit;
      const isNext = cachedAt.commit === committed.commit - 1;
      cachedAt = { ...committed, commit: isNext ? committed.commit : NEVER.commit };
    }
    return { result: Promise.resolve(result.value), storageError: null };
  }

  /** @throws MustRepeat unless this machine has the stage, in a transaction of stages */
  async function requireOwn(tx: Pick<Tables, 'stages'>, stageId: StageId | undefined): Promise<void> {
    const { step, fence } = state;
    if (step === null || step.locking === 'all') return;
    if (stageId !== undefined) step.stages.add(stageId);
    const stage = stageId === undefined ? null : await tx.stages.find(stageId);
    if (stage === null || fence === null || stage.machineId !== fence.machineId) throw refuse(step, 'another stage');
  }

  return {
    async run<T>(work: (tx: Tx) => Promise<T>, { sync = 'now', stage }: CommitOptions = {}): Promise<Run<T>> {
      const ofStage = async (tx: Tx) => {
        await requireOwn(tx, stage);
        return work(tx);
      };
      let locking: Locking = stage === undefined || state.fence === null ? 'all' : 'stages';
      for (let isFirst = true; locking === 'stages'; isFirst = false) {
        try {
          return await attempt(ofStage, sync, locking);
        } catch (error) {
          if (!(error instanceof MustRepeat)) throw error;
          locking = isFirst ? error.locking : 'all';
        }
      }
      return attempt(work, sync, locking);
    },
    /** Runs pieces of work, each of which names its stage first with `requireOwn`. @throws MustRepeat if one is to run again, by itself */
    runOfStages: <T>(work: (tx: Tx) => Promise<T>): Promise<Run<T>> =>
      attempt(work, 'later', state.fence === null ? 'all' : 'stages'),
    requireOwn,
    /** The newest commit of this process. */
    newest: () => newest,
    setFence(wanted: Fence): void {
      state.fence = wanted;
    },
    greet: cut.greet,
    hasUnknown: () => cut.isOpen() || state.step?.isCut === true,
    giveUp: cut.giveUp,
  };
}

const hasUpdates = ({ hasWritten, emitted }: Step): boolean => hasWritten || emitted.length > 0;

function refuse(step: Step, what: string): MustRepeat {
  const refused = new MustRepeat('all', `a transaction of stages is about ${what}`);
  step.refused ??= refused;
  return refused;
}

/** Call before each statement that may write. @throws MustRepeat */
function noteWrite(step: Step, text: string): void {
  const table = WRITES.exec(text)?.[1] ?? 'an unknown table';
  if (step.locking === 'stages' && !OF_STAGES.has(table)) throw refuse(step, table);
  step.hasWritten = true;
}

/** Returns the function that makes Kysely run the writer's transactions on a connection. */
function databasesOf(
  state: WriterState,
  onBegun: (step: Step, begun: Moment) => void,
  deps: WriterDeps,
): (link: PgLink) => Kysely<Schema> {
  const databases = new WeakMap<PgLink, Kysely<Schema>>();
  const current = (): Step => {
    if (state.step === null) throw new Error('no transaction runs');
    return state.step;
  };
  const transactions: Transactions = {
    async begin(link) {
      const step = current();
      const beginning = begin(link, state.fence, step.locking).then((begun) => onBegun(step, begun));
      if (step.locking === 'all') {
        await beginning.catch(async (error: unknown) => {
          await link.rollback();
          throw error;
        });
        return;
      }
      // Its work can run again, so it does not wait for the reply, and its first query goes out at once.
      step.beginning = beginning.catch((error: unknown) => {
        step.refused ??= error;
      });
    },
    commit: (link) =>
      deps.passOn().alone(async () => {
        const step = current();
        await step.beginning;
        if (step.refused !== null) throw step.refused;
        // The connection that follows may be there already, and would never be asked what became of this commit.
        if (link.isBroken()) throw new DatabaseUnreachable('the connection broke before the commit');
        mark('commit begun');
        const results = await link
          .queryAll(hasUpdates(step) ? closing(step, deps.writerId) : 'commit')
          .catch((error: unknown) => {
            step.isCut = link.isBroken() && hasUpdates(step);
            if (step.isCut) deps.passOn().readNext();
            throw error;
          });
        if (results.at(-1)?.command !== 'COMMIT') throw new Error('a statement of the transaction had failed');
        if (hasUpdates(step)) step.committed = momentOf(results);
        mark('committed');
        await notifyOf(step, deps);
      }),
    rollback: (link) => link.rollback(),
  };
  return (link) => {
    const links = { acquire: async () => link, release: () => undefined, replace: null };
    const made = databases.get(link) ?? kyselyOn(links, transactions, (text) => noteWrite(current(), text));
    databases.set(link, made);
    return made;
  };
}

/** Prepared queries of a transaction on its connection. */
const wireOf = (link: PgLink, step: Step): Wire => ({
  async ask(text, values, isWrite) {
    if (isWrite) noteWrite(step, text);
    return (await link.query({ text, values, ...nameOf(text) })).rows;
  },
  send(text, values) {
    noteWrite(step, text);
    link.queryLater({ text, values, ...nameOf(text) });
  },
});

async function begin(link: PgLink, fence: Fence | null, locking: Locking): Promise<Moment> {
  const results = await link.queryAll(beginning(fence, locking));
  const [machine, found] = results.slice(-2);
  requireKnownVersion(found?.rows[0]);
  if (fence !== null && Epoch.safeParse(machine?.rows[0]).data?.epoch !== fence.epoch) throw leaseLost();
  return Moment.parse(found?.rows[0]);
}

type Notifying = Pick<WriterDeps, 'passOn' | 'subscribers' | 'onUnsynced'>;

/** Tells of what was committed: rows to their launches, then events, then hints. Call within `alone`. */
async function notifyOf({ begun, committed, locking, draft, emitted, at }: Step, deps: Notifying): Promise<void> {
  const passOn = deps.passOn();
  const before = committed === null ? begun : momentBefore(committed, locking, emitted.length);
  // If the commits of others cannot be read now, the next look passes on theirs and this one.
  if (!passOn.isUpTo(before)) await passOn.passOnUntil(before).catch(() => undefined);
  if (committed !== null) {
    const events = emitted.map((event, nth) => ({ ...event, seq: before.seq + 1 + nth, at }));
    if (passOn.isUpTo(before)) passOn.own(committed, draft.given, events);
    else passOn.ownLater(committed.commit, draft.given);
  }
  hint(draft, deps);
}

const momentBefore = ({ commit, seq, alone }: Moment, locking: Locking, events: number): Moment => ({
  commit: commit - 1,
  seq: seq - events,
  alone: alone - (locking === 'all' ? 1 : 0),
});

/** As `notifyOf`, for a commit of which no more than its number is known. */
async function notifyLater(draft: Draft, commit: number, deps: Notifying & Pick<WriterDeps, 'now'>): Promise<void> {
  deps.passOn().ownLater(commit, draft.given);
  // If it cannot be read now, the next look passes it on.
  await deps
    .now()
    .then(deps.passOn().passOnUntil)
    .catch(() => undefined);
  hint(draft, deps);
}

function hint(draft: Draft, { subscribers, onUnsynced }: Notifying): void {
  if (!draft.isSynced()) {
    onUnsynced();
    subscribers.reportUnsynced();
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
