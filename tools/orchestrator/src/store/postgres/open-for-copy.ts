import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { z } from 'zod';
import { OperationalError } from '../../lib/errors.ts';
import { postgresCopy, type Query } from '../copy/postgres-copy.ts';
import type { ProjectLocation } from '../copy/sqlite-copy.ts';
import type { CopySource, CopyTarget } from '../copy/table-rows.ts';
import { beginEpoch } from './begin-epoch.ts';
import { migrate } from './migrate.ts';
import { OWN_TABLES } from './own-tables.ts';
import { createConnect } from './pg-link.ts';
import { createServerHistory } from './server-history.ts';

/** A PostgreSQL store that is copied. */
export interface PostgresCopy {
  /**
   * Runs `work` in one transaction, while nobody else writes.
   * @throws OperationalError `database_in_use` if another machine than this one uses the store
   */
  inTransaction<T>(work: (store: CopyTarget & MachineTables) => Promise<T>): Promise<T>;
  /** Reads everything as of one moment, while others go on writing. */
  inSnapshot<T>(work: (store: CopySource & MachineTables) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface MachineTables {
  /** Where this machine has its projects. */
  places(): Promise<readonly ProjectLocation[]>;
}

const Machine = z.object({ name: z.string() });
const Location = z.object({ projectId: z.string(), path: z.string() });

/**
 * Connects to a store, and brings it up to date as a start does. A copy may take as long as it needs, unlike anything else there.
 * @param machine its id, and where it keeps the newest timeline that it has used
 */
export async function openForCopy(
  databaseUrl: string,
  { id: here, historyFile }: { id: string; historyFile: string },
): Promise<PostgresCopy> {
  const history = createServerHistory({ path: historyFile, writer: null });
  const link = await createConnect(parseDatabaseUrl(databaseUrl), history)();
  try {
    await migrate(link);
    await beginEpoch(link);
  } catch (error) {
    await link.end();
    throw error;
  }
  const query: Query = async (text, values = []) => (await link.query({ text, values })).rows;
  const places = async () => {
    const text = 'select project_id as "projectId", path from project_places where machine_id = $1';
    return (await query(text, [here])).map((row) => Location.parse(row));
  };
  const transaction = async <T>(begin: string, work: () => Promise<T>): Promise<T> => {
    await query(begin);
    try {
      for (const limit of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'])
        await query(`set local ${limit} = 0`);
      const done = await work();
      await query('commit');
      return done;
    } catch (error) {
      await query('rollback').catch(() => undefined); // the connection may be gone, and the transaction with it
      throw error;
    }
  };
  const store = { ...postgresCopy(query, OWN_TABLES), places };
  return {
    inTransaction: (work) =>
      transaction('begin', async () => {
        await query('select seq from cluster_state for update');
        await requireAlone(query, here);
        return work(store);
      }),
    inSnapshot: (work) => transaction('begin isolation level repeatable read, read only', () => work(store)),
    close: link.end,
  };
}

async function requireAlone(query: Query, here: string): Promise<void> {
  const [other] = await query(
    `select report::json ->> 'name' as name from machines
     where id <> $1 and state = 'connected' and lease_until > extract(epoch from clock_timestamp()) * 1000 limit 1`,
    [here],
  );
  if (other === undefined) return;
  const { name } = Machine.parse(other);
  throw new OperationalError(
    'database_in_use',
    `The machine ${name} uses the shared store. Stop Callboard there first; its sessions go on meanwhile. Nothing was changed.`,
  );
}
