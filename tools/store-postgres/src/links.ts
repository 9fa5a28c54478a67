import { setTimeout as wait } from 'node:timers/promises';
import {
  DatabaseUnreachable,
  type StorageError,
  storageErrorOf,
  storageFailed,
  storeClosed,
  syncFiles,
} from '@callboard/orchestrator/storage-error';
import type { Logger, Platform, Schema } from '@callboard/orchestrator/store';
import { messageOf } from '@callboard/runtime/errors';
import { settlesWithin } from '@callboard/runtime/settles-within';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type PrimitiveValueListNode,
  type QueryResult,
  type TransactionSettings,
  type ValueListNode,
} from 'kysely';
import { CHANNEL, heardOf } from './commits.ts';
import type { Connect, PgLink } from './pg-link.ts';

/** How long somebody waits for a connection that is being made anew, from the moment when it broke. */
const GRACE_MS = 2_000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1_000;
/** How long closing waits for a last connection. */
const CLOSE_MS = 2_000;

export interface LinkConnection {
  /** Resolves with the connection. @throws what the last attempt has failed with, at once when the grace is over */
  link(): Promise<PgLink>;
  /** Ends the connection, with whatever waits for its answer, and makes no other one for `link`. */
  cut(): Promise<void>;
  /** @param isNeeded makes one last attempt if there is no connection, for a moment */
  close(isNeeded: boolean): Promise<void>;
}

interface LinkConnectionDeps {
  connect: Connect;
  /** Runs on each new connection before anybody gets it; if it fails, the connection is tried anew. */
  prepare: (link: PgLink) => Promise<void>;
  log: Logger;
}

/** Keeps one connection, and makes it anew as soon as it breaks, for as long as it takes. */
export async function maintainLink({ connect, prepare, log }: LinkConnectionDeps): Promise<LinkConnection> {
  let current: PgLink | null = null;
  let attempts: Promise<void> | null = null;
  let brokenAt = 0;
  let failure: unknown = null;
  const closed = new AbortController();
  const isOver = new AbortController();

  async function open(): Promise<void> {
    const link = await connect(isOver.signal);
    try {
      await prepare(link);
    } catch (error) {
      await link.end();
      throw error;
    }
    current = link;
    failure = null;
    link.onBroken(() => void retry());
    if (link.isBroken()) throw new DatabaseUnreachable('it broke at once');
  }

  function retry(): Promise<void> {
    if (attempts !== null || closed.signal.aborted) return attempts ?? Promise.resolve();
    current = null;
    brokenAt = performance.now();
    log.warn('connection to the database lost');
    attempts = tryUntilOpen().finally(() => {
      attempts = null;
    });
    return attempts;
  }

  async function tryUntilOpen(): Promise<void> {
    for (let ms = FIRST_RETRY_MS; !closed.signal.aborted; ms = Math.min(ms * 2, LAST_RETRY_MS)) {
      try {
        await open();
        log.info('connected to the database again');
        return;
      } catch (error) {
        current = null;
        failure = error;
        log.debug({ reason: messageOf(error) }, 'database not reached');
      }
      await wait(ms, undefined, { signal: closed.signal, ref: false }).catch(() => undefined);
    }
  }

  async function connectOnceMore(isNeeded: boolean): Promise<void> {
    await attempts;
    if (isNeeded && (current === null || current.isBroken()))
      await open().catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'database not reached'));
  }

  await open();
  return {
    async link() {
      if (current !== null && !current.isBroken()) return current;
      const again = retry();
      const restMs = brokenAt + GRACE_MS - performance.now();
      if (restMs > 0 || failure === null)
        await Promise.race([again, wait(Math.max(restMs, 100), undefined, { ref: false })]);
      if (current !== null && !current.isBroken()) return current;
      throw failure ?? new DatabaseUnreachable('no connection yet');
    },
    async cut() {
      closed.abort();
      await current?.end();
    },
    async close(isNeeded) {
      closed.abort();
      await settlesWithin(connectOnceMore(isNeeded), CLOSE_MS);
      isOver.abort(); // one that is being made as well
      await current?.end();
    },
  };
}

/** A notification may get lost with its connection: the table is the truth. */
const CHECK_INTERVAL_MS = 1_000;
/** What happens in stages of others is only shown here: it is read together. */
const TOGETHER_MS = 100;

interface UpdateDeps {
  connect: Connect;
  check: () => Promise<void>;
  /** Whether everything up to a commit is known here. Resolves when a commit of this process that ends just now is over. */
  isKnown: (commit: number) => Promise<boolean>;
  log: Logger;
}

/** Looks for commits of others when the database tells of one, and each second. */
export function listenForUpdates({ connect, check, isKnown, log }: UpdateDeps): { stop(): Promise<void> } {
  const stopped = new AbortController();
  let link: PgLink | null = null;
  let isDue = false;
  let viewing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  function checkSoon(): void {
    clearTimeout(timer);
    timer = undefined;
    isDue = true;
    viewing ??= checkUntilDone().finally(() => {
      viewing = null;
    });
  }

  async function checkUntilDone(): Promise<void> {
    while (isDue && !stopped.signal.aborted) {
      isDue = false;
      await check();
    }
  }

  /** The database tells of the commits of this process as well: they need no look. */
  async function hear({ commit, isOfStages }: ReturnType<typeof heardOf>): Promise<void> {
    if (await isKnown(commit)) return;
    if (isOfStages) timer ??= setTimeout(checkSoon, TOGETHER_MS).unref();
    else checkSoon();
  }

  async function listen(): Promise<void> {
    const opened = await connect(stopped.signal);
    link = opened;
    opened.onNotification((payload) => void hear(heardOf(payload)));
    await opened.queryAll(`listen ${CHANNEL}`);
    checkSoon(); // what came before
  }

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (link === null || link.isBroken())
        await listen().catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'database not listened to'));
      await wait(CHECK_INTERVAL_MS, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
      checkSoon();
    }
  }

  const watching = watch();
  return {
    /** Does not wait for an answer; a look ends when its connection does. */
    async stop() {
      stopped.abort();
      clearTimeout(timer);
      await link?.end();
      await watching;
      await viewing;
    },
  };
}

const SYNC = `select pg_logical_emit_message(true, 'callboard', 'sync')`;
/**
 * A machine that cannot reach the database for a day finds such rows at its next start. A process that has not written for 30 days
 * has ended; if not, its next commit adds its row again. With a sync each second, this runs about once an hour.
 */
const FORGET = `delete from given_rows where at < now() - interval '1 day';
  delete from writers where at < now() - interval '30 days'`;
const FORGET_EVERY = 3_600;

/** Tracks which commits are on the server's disk, and syncs the others. */
export function createServerSync(
  { use }: ReadPool,
  platform: Pick<Platform, 'syncFile'>,
  reportWrite: (storageError: StorageError) => void,
) {
  /** How many transactions were committed without a sync, and how many of those are certainly on disk. */
  let committed = 0;
  let onDisk = 0;
  let times = 0;
  return {
    countUnsynced(): void {
      committed++;
    },
    /** See `Store.sync`. A commit that is synced puts all commits before it on disk; this one changes nothing. */
    async sync(first: readonly string[] = []): Promise<void> {
      const until = committed;
      if (onDisk >= until) return;
      await syncFiles(first, platform, reportWrite);
      try {
        const isDue = times++ % FORGET_EVERY === 0;
        await use((link) => link.queryAll(isDue ? `${FORGET};${SYNC}` : SYNC));
      } catch (error) {
        const storageError = storageErrorOf(error);
        if (storageError === null) throw error;
        reportWrite(storageError);
        throw storageFailed(storageError, error);
      }
      onDisk = Math.max(onDisk, until);
    },
  };
}

/** Reads that run at the same time. */
const MAX_LINKS = 4;

export interface ReadPool {
  readonly db: Kysely<Schema>;
  /** Runs `work` with a connection of its own for the time. */
  use<T>(work: (link: PgLink) => Promise<T>): Promise<T>;
  /** Refuses new and waiting reads with `orchestrator_unreachable`, waits a moment for those that run, and ends all connections. */
  close(): Promise<void>;
}

/** Connections for reads outside of write transactions. A transaction on `db` sees one state of the database. */
export function createReadPool(connect: Connect): ReadPool {
  const idle: PgLink[] = [];
  const links = new Set<PgLink>();
  const waiting: (() => void)[] = [];
  let count = 0;
  let isClosed = false;
  const hasEnded = new AbortController();
  const empty = Promise.withResolvers<void>();

  /** @throws OperationalError `orchestrator_unreachable`, also if the pool has ended its connections meanwhile */
  async function open(): Promise<PgLink> {
    if (isClosed) throw storeClosed();
    const link = await connect(hasEnded.signal).catch((error: unknown) => {
      throw hasEnded.signal.aborted ? storeClosed() : error;
    });
    links.add(link);
    link.onBroken(() => links.delete(link));
    return link;
  }

  async function acquire(): Promise<PgLink> {
    while (count >= MAX_LINKS && !isClosed) await new Promise<void>((resolve) => waiting.push(resolve));
    if (isClosed) throw storeClosed();
    count++;
    try {
      for (let link = idle.pop(); link !== undefined; link = idle.pop()) if (!link.isBroken()) return link;
      return await open();
    } catch (error) {
      leave();
      throw error;
    }
  }

  function leave(): void {
    count--;
    waiting.shift()?.();
    if (isClosed && count === 0) empty.resolve();
  }

  function release(link: PgLink): void {
    if (!link.isBroken()) idle.push(link);
    leave();
  }

  const db = kyselyOn(
    { acquire, release, replace: open },
    {
      begin: async (link) => void (await link.queryAll('begin isolation level repeatable read read only')),
      commit: async (link) => void (await link.queryAll('commit')),
      rollback: (link) => link.rollback(),
    },
    () => undefined,
  );
  return {
    db,
    async use(work) {
      const link = await acquire();
      try {
        return await work(link);
      } finally {
        release(link);
      }
    },
    async close() {
      isClosed = true;
      for (const refuse of waiting.splice(0)) refuse();
      if (count > 0) await Promise.race([empty.promise, wait(CLOSE_MS, undefined, { ref: false })]);
      hasEnded.abort(); // those that are being made as well
      await Promise.all([...links].map((link) => link.end()));
    },
  };
}

/** How the transactions of a database are run; each function is one round trip at most. */
export interface Transactions {
  begin(link: PgLink, settings: TransactionSettings): Promise<void>;
  commit(link: PgLink): Promise<void>;
  rollback(link: PgLink): Promise<void>;
}

/** Where queries find a connection. */
export interface Links {
  acquire(): Promise<PgLink>;
  release(link: PgLink): void;
  /** For a query outside of transactions whose connection broke: a fresh one, to ask again. Null: never asks again. */
  replace: ((broken: PgLink) => Promise<PgLink>) | null;
}

/** Returns Kysely on these connections. @param onWrite called before each statement that may write, with its text */
export function kyselyOn(links: Links, transactions: Transactions, onWrite: (text: string) => void): Kysely<Schema> {
  const dialect: Dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => driverOf(links, transactions, onWrite),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new EmptyListsCompiler(),
  };
  return new Kysely<Schema>({ dialect });
}

/** SQLite takes an empty list, in which nothing is; PostgreSQL takes none. */
class EmptyListsCompiler extends PostgresQueryCompiler {
  protected override visitValueList(node: ValueListNode): void {
    if (node.values.length === 0) this.append('(null)');
    else super.visitValueList(node);
  }
  protected override visitPrimitiveValueList(node: PrimitiveValueListNode): void {
    if (node.values.length === 0) this.append('(null)');
    else super.visitPrimitiveValueList(node);
  }
}

class PgConnection implements DatabaseConnection {
  link: PgLink;
  isInTransaction = false;
  private readonly links: Links;
  private readonly onWrite: (text: string) => void;

  constructor(link: PgLink, links: Links, onWrite: (text: string) => void) {
    this.link = link;
    this.links = links;
    this.onWrite = onWrite;
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    if (query.kind !== 'SelectQueryNode') this.onWrite(sql);
    const { rows, rowCount, command } = await this.ask({ text: sql, values: parameters, ...nameOf(sql) });
    const changed = command === 'SELECT' ? {} : { numAffectedRows: BigInt(rowCount ?? 0) };
    return { rows: rows as R[], ...changed }; // PostgreSQL's rows, as with Kysely's own driver
  }

  private async ask(query: Parameters<PgLink['query']>[0]): ReturnType<PgLink['query']> {
    try {
      return await this.link.query(query);
    } catch (error) {
      const { replace } = this.links;
      if (this.isInTransaction || replace === null || !this.link.isBroken()) throw error;
      this.link = await replace(this.link);
      return this.link.query(query);
    }
  }

  // biome-ignore lint/correctness/useYield: a driver must have it
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the store streams no rows');
  }
}

/** A server keeps each named query of each connection. */
const MAX_NAMES = 400;
const names = new Map<string, string>();

/** Prepared queries save the server the planning. The names hold for every connection, because a name means one text. */
export function nameOf(text: string): { name?: string } {
  const known = names.get(text);
  if (known !== undefined) return { name: known };
  if (names.size >= MAX_NAMES) return {};
  const name = `q${names.size}`;
  names.set(text, name);
  return { name };
}

function driverOf(links: Links, transactions: Transactions, onWrite: (text: string) => void): Driver {
  const own = (connection: DatabaseConnection): PgConnection => {
    if (!(connection instanceof PgConnection)) throw new TypeError('a connection of another driver');
    return connection;
  };
  return {
    init: async () => undefined,
    acquireConnection: async () => new PgConnection(await links.acquire(), links, onWrite),
    beginTransaction: async (connection, settings) => {
      own(connection).isInTransaction = true;
      await transactions.begin(own(connection).link, settings);
    },
    commitTransaction: (connection) => transactions.commit(own(connection).link),
    rollbackTransaction: (connection) => transactions.rollback(own(connection).link),
    releaseConnection: async (connection) => links.release(own(connection).link),
    destroy: async () => undefined,
  };
}
