import {
  type Compilable,
  type CompiledQuery,
  DummyDriver,
  type Expression,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Database, Schema } from './schema.ts';

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

type Text = Expression<string | null>;

/** What queries must say differently on SQLite and PostgreSQL. Documents are JSON texts on both. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** The field of a document as text; null if it is missing. */
  text(document: Text, path: string): RawBuilder<string | null>;
  number(document: Text, path: string): RawBuilder<number>;
  boolean(document: Text, path: string): RawBuilder<boolean | null>;
  /** The length of a list in a document; null if there is none. */
  length(document: Text, path: string): RawBuilder<number | null>;
  /** Where a part begins in a text, from 1; 0 if it is not there. */
  position(text: Text, part: Text): RawBuilder<number>;
  /** A condition as 0, 1 or null. */
  flag(condition: Expression<unknown>): RawBuilder<number | null>;
  /** The seconds from 1970 to an instant. */
  seconds(instant: Text): RawBuilder<number>;
  least<T>(one: Expression<T>, other: Expression<T>): RawBuilder<T>;
  greatest<T>(one: Expression<T>, other: Expression<T>): RawBuilder<T>;
  /** The database's clock, in milliseconds from 1970. */
  readonly nowMs: RawBuilder<number>;
  /** The highest number of an event that was used or skipped. */
  lastSeq(db: Database): Promise<number>;
}

const jsonPath = (path: string) => sql.lit(`$.${path}`);

const sqliteDialect: Dialect = {
  name: 'sqlite',
  text: (document, path) => sql`json_extract(${document}, ${jsonPath(path)})`,
  number: (document, path) => sql`json_extract(${document}, ${jsonPath(path)})`,
  boolean: (document, path) => sql`json_extract(${document}, ${jsonPath(path)})`,
  length: (document, path) => sql`json_array_length(${document}, ${jsonPath(path)})`,
  position: (text, part) => sql`instr(${text}, ${part})`,
  flag: (condition) => sql`(${condition})`,
  seconds: (instant) => sql`unixepoch(${instant}, 'subsec')`,
  least: (one, other) => sql`min(${one}, ${other})`,
  greatest: (one, other) => sql`max(${one}, ${other})`,
  nowMs: sql`cast(unixepoch('subsec') * 1000 as integer)`,
  lastSeq: async (db) => {
    const row = await db.selectFrom('sqlite_sequence').select('seq').where('name', '=', 'events').executeTakeFirst();
    return row?.seq ?? 0;
  },
};

/** `callboard_json` is a function of the schema: PostgreSQL's own parser refuses some escapes that JavaScript writes. */
const jsonAt = (document: Text, path: string, operator: string) =>
  sql`(callboard_json(${document}) ${sql.raw(operator)} ${sql.lit(`{${path.replaceAll('.', ',')}}`)})`;

const postgres: Dialect = {
  name: 'postgres',
  text: (document, path) => sql`${jsonAt(document, path, '#>>')}`,
  number: (document, path) => sql`${jsonAt(document, path, '#>>')}::double precision`,
  boolean: (document, path) => sql`${jsonAt(document, path, '#>>')}::boolean`,
  length: (document, path) =>
    sql`case json_typeof(${jsonAt(document, path, '#>')}) when 'array' then json_array_length(${jsonAt(document, path, '#>')}) end`,
  position: (text, part) => sql`strpos(${text}, ${part})`,
  flag: (condition) => sql`(${condition})::integer`,
  seconds: (instant) => sql`extract(epoch from (${instant})::timestamptz)::double precision`,
  least: (one, other) => sql`least(${one}, ${other})`,
  greatest: (one, other) => sql`greatest(${one}, ${other})`,
  nowMs: sql`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`,
  lastSeq: async (db) => (await db.selectFrom('cluster_state').select('seq').executeTakeFirst())?.seq ?? 0,
};

/** Returns the dialect of a connection. */
export const dialectOf = (db: Database): Dialect =>
  db.getExecutor().adapter instanceof SqliteAdapter ? sqliteDialect : postgres;

/** Returns the store's own clock, in milliseconds since 1970: one for all machines, whatever their clocks say. */
export async function storeNowMs(db: Database): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${dialectOf(db).nowMs} as now`.execute(db);
  const now = rows[0]?.now;
  if (now === undefined) throw new Error('the store did not tell its time');
  return now;
}
