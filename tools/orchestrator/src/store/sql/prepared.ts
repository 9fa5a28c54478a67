import {
  type Compilable,
  type CompiledQuery,
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

type Query<Row> = Compilable<Row> | ((dialect: Dialect) => Compilable<Row>);
type Values = Readonly<Record<string, unknown>>;

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

/** The connection of a transaction on PostgreSQL. */
export interface Wire {
  /** Statements that are asked without waiting in between are answered in order, in one round trip. */
  ask(sql: string, parameters: readonly unknown[], isWrite: boolean): Promise<unknown[]>;
  /** Sends a write with the next statement that is asked, which throws what it fails with. */
  send(sql: string, parameters: readonly unknown[]): void;
}

const wires = new WeakMap<Database, Wire>();

/**
 * Runs prepared queries of a transaction on its connection directly, until the returned function is called: Kysely would send each
 * after the answer to the one before.
 */
export function runOn(transaction: Database, wire: Wire): () => void {
  wires.set(transaction, wire);
  return () => void wires.delete(transaction);
}

/**
 * Builds and compiles a query once for each dialect. For the few queries that run for each line of each session: building
 * one costs more than running it.
 */
export const prepare = <Row>(query: Query<Row>) => prepareQuery(query).run;

function prepareQuery<Row>(query: Query<Row>) {
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

  return {
    async run(db: Database, values: Values): Promise<Row[]> {
      const execute = executors.get(db);
      const compiled = execute === undefined ? compiledFor(db) : inSqlite;
      const parameters = parametersOf(compiled, values);
      if (execute !== undefined) return execute(compiled.sql, parameters) as Row[]; // SQLite's rows, as with Kysely
      const wire = wires.get(db);
      if (wire !== undefined) {
        const isWrite = compiled.query.kind !== 'SelectQueryNode';
        return (await wire.ask(compiled.sql, parameters, isWrite)) as Row[]; // PostgreSQL's rows, as with Kysely
      }
      return (await db.executeQuery<Row>({ ...compiled, parameters })).rows;
    },
    compiledFor,
  };
}

/**
 * As `prepare`, for a write whose result nobody needs. In a transaction on PostgreSQL it goes out with the next statement that is
 * waited for, at the latest with the commit, and a failure of it is thrown there.
 */
export function prepareWrite(query: Query<unknown>) {
  const { run, compiledFor } = prepareQuery(query);
  return async (db: Database, values: Values): Promise<void> => {
    const wire = wires.get(db);
    if (wire === undefined) return void (await run(db, values));
    const compiled = compiledFor(db);
    wire.send(compiled.sql, parametersOf(compiled, values));
  };
}

const parametersOf = ({ parameters }: CompiledQuery, values: Values): unknown[] =>
  parameters.map((value) => (value instanceof Placeholder ? values[value.name] : value));
