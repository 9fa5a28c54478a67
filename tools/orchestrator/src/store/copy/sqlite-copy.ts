import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { z } from 'zod';
import { type Column, type CopyTarget, isCopied, type Row, type TableShape, type Value } from './table-rows.ts';

/** What a batch holds at most, so that the copy of any store fits into memory: one row may be longer by itself. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 4_000_000;
/** These belong to the file, not to the data: the boot of the machine, and SQLite's own tables. */
const OF_THE_FILE = /^(boot|sqlite_.*)$/;

const ColumnInfo = z.object({ name: z.string(), type: z.string() });
const Reference = z.object({ table: z.string() });

/** A SQLite file as one side of a copy. */
export interface SqliteCopy extends CopyTarget {
  /** All tables, each after those that it refers to. */
  readonly order: readonly string[];
  /** Leaves out the machines: every stage belongs to this one, and projects are where this one has them. */
  forgetMachines(locations: readonly ProjectLocation[]): void;
  /** Runs `work` in one transaction. */
  inTransaction<T>(work: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Where this machine has a project. */
export interface ProjectLocation {
  readonly projectId: string;
  readonly path: string;
}

/** Opens a store's file that is up to date, and that nobody else uses. */
export function openSqliteCopy(file: string, { readOnly }: { readOnly: boolean }): SqliteCopy {
  const database = new DatabaseSync(file, { readOnly, enableForeignKeyConstraints: true, timeout: 5_000 });
  const names = database
    .prepare(`select name from sqlite_schema where type = 'table'`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !OF_THE_FILE.test(name) && isCopied(name));
  const inserts = new Map<string, ReturnType<DatabaseSync['prepare']>>();

  async function* batches({ name, columns }: TableShape): AsyncIterable<readonly Row[]> {
    const statement = database.prepare(`select ${columns.map(quoted).join()} from ${quote(name)}`);
    statement.setReadBigInts(true);
    let rows: Row[] = [];
    let characters = 0;
    for (const found of statement.iterate()) {
      const row = columns.map((column) => valueIn(name, column, found[column.name] ?? null));
      for (const value of row) if (typeof value === 'string') characters += value.length;
      rows.push(row);
      if (rows.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
      yield rows;
      rows = [];
      characters = 0;
    }
    if (rows.length > 0) yield rows;
  }

  return {
    order: ordered(database, names),
    shapes: async () => names.map((name) => shapeOf(database, name)),
    batches,
    lastNumbers: async () => {
      const statement = database.prepare('select name, seq from sqlite_sequence');
      statement.setReadBigInts(true);
      return new Map(statement.all().map(({ name, seq }) => [String(name), BigInt(seq?.toString() ?? 0)]));
    },
    clear: async ({ name }) => void database.exec(`delete from ${quote(name)}`),
    insert: async ({ name, columns }, rows) => {
      const text = `insert into ${quote(name)} (${columns.map(quoted).join()}) values (${columns.map(() => '?').join()})`;
      const statement = inserts.get(name) ?? database.prepare(text);
      inserts.set(name, statement);
      for (const row of rows) statement.run(...row);
    },
    setLastNumber: async (table, last) => {
      database.prepare('delete from sqlite_sequence where name = ?').run(table);
      database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(table, last);
    },
    forgetMachines: (places) => {
      database.exec('update stages set machine_id = null');
      // Another machine may have another project at the same path: it makes room.
      const makeRoom = database.prepare(`update projects set path = id || ':' || path where path = ? and id <> ?`);
      const place = database.prepare('update projects set path = ? where id = ?');
      for (const { projectId, path } of places) {
        makeRoom.run(path, projectId);
        place.run(path, projectId);
      }
    },
    inTransaction: async (work) => {
      database.exec('begin immediate');
      try {
        const done = await work();
        database.exec('commit');
        return done;
      } catch (error) {
        if (database.isTransaction) database.exec('rollback');
        throw error;
      }
    },
    close: () => database.close(),
  };
}

/** Copies a store's file as of one moment, even while somebody writes to it. */
export function snapshotSqlite(file: string, target: string): void {
  const source = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    source.prepare('vacuum into ?').run(target);
  } finally {
    source.close();
  }
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
const quoted = ({ name }: Column) => quote(name);

const KINDS: Record<string, Column['kind']> = { TEXT: 'text', INTEGER: 'integer', REAL: 'real' };

function shapeOf(database: DatabaseSync, name: string): TableShape {
  const columns = database
    .prepare(`pragma table_info(${quote(name)})`)
    .all()
    .map((info) => ColumnInfo.parse(info))
    .map(({ name: column, type }) => {
      const kind = KINDS[type.toUpperCase()];
      if (kind === undefined) throw new TypeError(`${name}.${column} has the type ${type}, which cannot be copied`);
      return { name: column, kind };
    });
  return { name, columns: columns.toSorted((one, other) => (one.name < other.name ? -1 : 1)) };
}

/** SQLite lets a column hold anything: what is of another kind than the column would come back as something else. */
function valueIn(table: string, { name, kind }: Column, value: SQLOutputValue): Value {
  if (value === null) return null;
  if (kind === 'text' && typeof value === 'string') return value;
  if (kind === 'integer' && typeof value === 'bigint') return value;
  if (kind === 'real' && (typeof value === 'number' || typeof value === 'bigint')) return Number(value);
  throw new TypeError(`${table}.${name} holds a ${typeof value}, which a column of the kind ${kind} cannot hold`);
}

/** Sorts tables so that each comes after those that it refers to. */
function ordered(database: DatabaseSync, names: readonly string[]): string[] {
  const done: string[] = [];
  const visit = (name: string): void => {
    if (done.includes(name)) return;
    const references = database.prepare(`pragma foreign_key_list(${quote(name)})`).all();
    for (const reference of references) {
      const { table } = Reference.parse(reference);
      if (table !== name) visit(table);
    }
    done.push(name);
  };
  for (const name of names) visit(name);
  return done;
}
