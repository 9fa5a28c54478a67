import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { nodePlatform } from '../../lib/edges.ts';
import type { MachineTables } from '../postgres/open-for-copy.ts';
import { openSqliteStore } from '../sqlite/sqlite-store.ts';
import { type CopiedTable, copyTables } from './copy-tables.ts';
import { openSqliteCopy } from './sqlite-copy.ts';
import type { CopySource } from './table-rows.ts';

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
