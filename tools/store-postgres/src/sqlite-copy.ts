import { createHash } from 'node:crypto';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { z } from 'zod';

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

/** A stored value: text, a whole number, or (in columns for those) any number. */
export type Value = string | bigint | number | null;
export type Row = readonly Value[];

export interface Column {
  readonly name: string;
  readonly kind: 'text' | 'integer' | 'real';
}

/** A table as both stores have it. */
export interface TableShape {
  readonly name: string;
  /** Sorted by name. */
  readonly columns: readonly Column[];
}

/** One store that tables are copied from. Nobody else writes to it meanwhile. */
export interface CopySource {
  /** All tables that hold data of Callboard, in any order. */
  shapes(): Promise<readonly TableShape[]>;
  /** Reads a table in batches of bounded size, with the values in the order of the columns. */
  batches(table: TableShape): AsyncIterable<readonly Row[]>;
  /** The highest number that each table has given to a row, also to deleted ones. Tables without such numbers are left out. */
  lastNumbers(): Promise<ReadonlyMap<string, bigint>>;
}

/** One store that tables are copied to: everything or nothing. */
export interface CopyTarget extends CopySource {
  clear(table: TableShape): Promise<void>;
  insert(table: TableShape, rows: readonly Row[]): Promise<void>;
  /** Makes the next row of the table get a higher number than this. */
  setLastNumber(table: string, last: bigint): Promise<void>;
}

/** These tables say which machines share a store, and what is where: each store has its own. */
const OF_MACHINES = new Set(['machines', 'machine_commands', 'project_places', 'former_worktrees']);
/** The same in tables that are copied: what a store with one machine does not say, and what differs between machines. */
const COLUMNS_OF_MACHINES = new Set(['stages.machine_id', 'projects.path']);

/** Whether a table holds what a person, Claude or Callboard said, rather than which machines there are. */
export const isCopied = (table: string): boolean => !OF_MACHINES.has(table);

/** What is the same in a store with several machines and in one with one. */
export const withoutMachines = ({ name, columns }: TableShape): TableShape => ({
  name,
  columns: columns.filter((column) => !COLUMNS_OF_MACHINES.has(`${name}.${column.name}`)),
});

/** What proves that two tables are equal. */
export interface TableDigest {
  readonly rows: number;
  /** In hex. Does not depend on the order of the rows, since the two databases sort texts differently. */
  readonly hash: string;
}

const MODULUS = 1n << 256n;

/** Adds up the hashes of rows. */
export function createDigest() {
  let rows = 0;
  let sum = 0n;
  return {
    add(row: Row): void {
      rows += 1;
      sum = (sum + BigInt(`0x${createHash('sha256').update(canonical(row)).digest('hex')}`)) % MODULUS;
    },
    read: (): TableDigest => ({ rows, hash: sum.toString(16) }),
  };
}

/** One text for each row, and no text for two. */
const canonical = (row: Row): string =>
  row
    .map((value) => {
      if (value === null) return 'n';
      return typeof value === 'string'
        ? `t${value.length}:${value}`
        : `${typeof value === 'bigint' ? 'i' : 'r'}${value}`;
    })
    .join('|');

/** Returns the digest of a table. */
export async function digestOf(source: CopySource, table: TableShape): Promise<TableDigest> {
  const digest = createDigest();
  for await (const rows of source.batches(table)) for (const row of rows) digest.add(row);
  return digest.read();
}

export const isSame = (one: TableDigest, other: TableDigest): boolean =>
  one.rows === other.rows && one.hash === other.hash;
