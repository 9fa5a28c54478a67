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
import type { Schema } from '../sql/schema.ts';
import type { PgLink } from './pg-link.ts';

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

/** Returns Kysely on these connections. @param onWrite called before each statement that may write */
export function kyselyOn(links: Links, transactions: Transactions, onWrite: () => void): Kysely<Schema> {
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
  private readonly onWrite: () => void;

  constructor(link: PgLink, links: Links, onWrite: () => void) {
    this.link = link;
    this.links = links;
    this.onWrite = onWrite;
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    if (query.kind !== 'SelectQueryNode') this.onWrite();
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

function driverOf(links: Links, transactions: Transactions, onWrite: () => void): Driver {
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
