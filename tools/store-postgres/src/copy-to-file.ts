import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nodePlatform, OperationalError, openSqliteStore } from '@callboard/orchestrator/store';
import { pino } from 'pino';
import type { MachineTables } from './open-for-copy.ts';
import {
  type CopySource,
  type CopyTarget,
  createDigest,
  digestOf,
  isSame,
  openSqliteCopy,
  type Row,
  type TableDigest,
  type TableShape,
  withoutMachines,
} from './sqlite-copy.ts';

const SUFFIXES = ['', '-wal', '-shm'];

/**
 * Copies a PostgreSQL store into a new file, as the store of this machine alone. The file gets its name only when it is complete,
 * was read back, and is on disk. There must be no file of that name, nor a log.
 * @throws OperationalError as `copyTables`
 */
export async function copyToFile(
  source: CopySource & MachineTables,
  file: string,
  onTable: (table: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const draft = draftOf(file);
  await removeDatabase(draft);
  try {
    await bringUpToDate(draft);
    const target = openSqliteCopy(draft, { readOnly: false });
    let copied: CopiedTable[];
    try {
      copied = await target.inTransaction(async () => {
        const tables = await copyTables({ source, target }, target.order, onTable);
        target.forgetMachines(await source.places());
        return tables;
      });
    } finally {
      target.close(); // the last connection: its log goes into the file
    }
    await sync(draft);
    await removeDatabase(file); // an empty log of a store that was there before
    await rename(draft, file);
    await sync(dirname(file));
    return copied;
  } finally {
    await removeDatabase(draft);
  }
}

/** The name of a file that becomes a store, beside it: one that Claude may not read either. */
export const draftOf = (file: string): string => `${file}.moving`;

/** Creates a store's file, or migrates it, as a start does. */
export async function bringUpToDate(file: string): Promise<void> {
  const store = await openSqliteStore(file, nodePlatform, pino({ level: 'silent' }));
  await store.close();
}

/** Removes a store's file with its log. */
export async function removeDatabase(file: string): Promise<void> {
  for (const suffix of SUFFIXES) await rm(`${file}${suffix}`, { force: true });
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A table that was copied. */
export interface CopiedTable extends TableDigest {
  readonly name: string;
}

/** A new store has them filled: their rows are replaced. */
const FILLED = new Set(['counters']);

/**
 * Copies every table, and checks each by reading it back. The caller commits the target, or throws all of it away.
 * @param order the names of all tables: each after those that it refers to
 * @returns what was copied, with the number of rows and their hash
 * @throws OperationalError `copy_failed` if the two stores do not have the same tables, or what was read back differs
 */
export async function copyTables(
  { source, target }: { source: CopySource; target: CopyTarget },
  order: readonly string[],
  onTable: (table: CopiedTable) => void,
): Promise<CopiedTable[]> {
  const tables = await sameTables(source, target, order);
  for (const table of tables) if (FILLED.has(table.name)) await target.clear(table);
  const copied: CopiedTable[] = [];
  for (const table of tables) {
    const digest = createDigest();
    for await (const rows of source.batches(table)) {
      const storable = rows.map(withoutNul);
      for (const row of storable) digest.add(row);
      await target.insert(table, storable);
    }
    const wanted = digest.read();
    const found = await digestOf(target, table);
    if (!isSame(wanted, found))
      throw new OperationalError(
        'copy_failed',
        `The copy of the table ${table.name} differs: ${wanted.rows} rows were written and ${found.rows} read back. Nothing was changed.`,
      );
    onTable({ name: table.name, ...found });
    copied.push({ name: table.name, ...found });
  }
  for (const [name, last] of await source.lastNumbers()) await target.setLastNumber(name, last);
  await requireNumbers(source, target);
  return copied;
}

/** Whether a store holds no data yet: only what a new one has. */
export async function isEmpty(store: CopySource): Promise<boolean> {
  for (const table of await store.shapes()) {
    if (FILLED.has(table.name)) continue;
    for await (const rows of store.batches(table)) if (rows.length > 0) return false;
  }
  return true;
}

/** Whether two stores hold the same: an earlier copy was finished, and only what follows it was not. */
export async function pauseSame(source: CopySource, target: CopySource): Promise<boolean> {
  const others = new Map((await target.shapes()).map((table) => [table.name, withoutMachines(table)]));
  for (const table of (await source.shapes()).map(withoutMachines)) {
    const other = others.get(table.name);
    if (other === undefined) return false;
    const digest = createDigest();
    for await (const rows of source.batches(table)) for (const row of rows) digest.add(withoutNul(row));
    if (!isSame(digest.read(), await digestOf(target, other))) return false;
  }
  return true;
}

/** PostgreSQL stores no NUL in a text. Documents are JSON, which writes it as an escape, so only bare texts can hold one. */
const withoutNul = (row: Row): Row =>
  row.map((value) => (typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value));

async function sameTables(
  source: CopySource,
  target: CopySource,
  order: readonly string[],
): Promise<readonly TableShape[]> {
  const [ours, theirs] = [await source.shapes(), await target.shapes()];
  const shown = (tables: readonly TableShape[]) =>
    tables.map(({ name, columns }) => `${name}(${columns.map((column) => `${column.name} ${column.kind}`).join()})`);
  const [have, want] = [shown(theirs).toSorted(), shown(ours).toSorted()];
  const odd = [...have.filter((table) => !want.includes(table)), ...want.filter((table) => !have.includes(table))];
  const unknown = ours.filter(({ name }) => !order.includes(name));
  if (odd.length > 0 || unknown.length > 0)
    throw new OperationalError(
      'copy_failed',
      `The two stores do not have the same tables (${[...odd, ...unknown.map(({ name }) => name)].join('; ')}). Nothing was changed.`,
    );
  return ours.toSorted((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

/** A number that is given twice would be a second event, or a second stage, under the name of the first. */
async function requireNumbers(source: CopySource, target: CopySource): Promise<void> {
  const found = await target.lastNumbers();
  for (const [name, last] of await source.lastNumbers())
    if ((found.get(name) ?? 0n) < last)
      throw new OperationalError('copy_failed', `The numbers of ${name} would begin anew. Nothing was changed.`);
}
