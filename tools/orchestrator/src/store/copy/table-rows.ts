import { createHash } from 'node:crypto';

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
