import { type Expression, type RawBuilder, SqliteAdapter, sql } from 'kysely';
import type { Database } from './database.ts';

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

const sqlite: Dialect = {
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
  db.getExecutor().adapter instanceof SqliteAdapter ? sqlite : postgres;

export { sqlite as sqliteDialect };
