import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Database } from './database.ts';
import { type Dialect, dialectOf, sqliteDialect } from './dialect.ts';
import type { Schema } from './schema.ts';

/** Builds queries without running them. */
export const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A placeholder in a prepared query, for a value that each run passes by this name. */
export const param = <T = string>(name: string) => sql<T>`${new Placeholder(name)}`;

/** Runs a statement synchronously and returns its rows. */
export type Execute = (sql: string, parameters: readonly unknown[]) => unknown[];

const executors = new WeakMap<Database, Execute>();

/**
 * Runs prepared queries synchronously on a transaction, until the returned function is called. The transaction has the
 * connection to itself, and asking Kysely for it costs more than most of these queries.
 */
export function runAtOnce(transaction: Database, execute: Execute): () => void {
  executors.set(transaction, execute);
  return () => void executors.delete(transaction);
}

/**
 * Builds and compiles a query once for each dialect. For the few queries that run for each line of each session: building
 * one costs more than running it.
 */
export function prepare<Row>(query: Compilable<Row> | ((dialect: Dialect) => Compilable<Row>)) {
  const build = (dialect: Dialect) => (typeof query === 'function' ? query(dialect) : query).compile();
  const inSqlite = build(sqliteDialect);
  let inPostgres: typeof inSqlite | undefined;

  function compiledFor(db: Database): typeof inSqlite {
    const dialect = dialectOf(db);
    if (dialect === sqliteDialect) return inSqlite;
    if (inPostgres === undefined) {
      const built = build(dialect);
      inPostgres = { ...db.getExecutor().compileQuery(built.query, built.queryId) };
    }
    return inPostgres;
  }

  return async (db: Database, values: Readonly<Record<string, unknown>>): Promise<Row[]> => {
    const execute = executors.get(db);
    const compiled = execute === undefined ? compiledFor(db) : inSqlite;
    const parameters = compiled.parameters.map((value) => (value instanceof Placeholder ? values[value.name] : value));
    if (execute !== undefined) return execute(compiled.sql, parameters) as Row[]; // SQLite's rows, as with Kysely
    return (await db.executeQuery<Row>({ ...compiled, parameters })).rows;
  };
}
