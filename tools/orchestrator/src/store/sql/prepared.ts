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
 * Builds and compiles a query once. For the few queries that run for each line of each session: building one costs more
 * than running it.
 */
export function prepare<Row>(query: Compilable<Row>) {
  const compiled = query.compile();
  return async (db: Database, values: Readonly<Record<string, unknown>>): Promise<Row[]> => {
    const parameters = compiled.parameters.map((value) => (value instanceof Placeholder ? values[value.name] : value));
    const execute = executors.get(db);
    if (execute !== undefined) return execute(compiled.sql, parameters) as Row[]; // SQLite's rows, as with Kysely
    return (await db.executeQuery<Row>({ ...compiled, parameters })).rows;
  };
}
