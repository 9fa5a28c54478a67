import { OperationalError } from '@callboard/orchestrator/store';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { z } from 'zod';
import { LOCK_ALL } from './commits.ts';
import { beginEpoch, migrate, OWN_TABLES } from './migrate.ts';
import { createConnect, createServerHistory } from './pg-link.ts';
import {
  type Column,
  type CopySource,
  type CopyTarget,
  isCopied,
  type ProjectLocation,
  type Row,
  type TableShape,
  type Value,
} from './sqlite-copy.ts';

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
        for (const lock of LOCK_ALL.split(';')) await query(lock);
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

/** Runs a statement in the one transaction of the copy. Resolves with its rows. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;

/** A transcript keeps two million characters of a text, and files are longer: this many rows fit into memory in any case. */
const BATCH_ROWS = 64;
const BATCH_ROWS_OF_FILES = 4;
const OF_FILES = /^(attachments|draft_files)$/;

const ColumnInfo = z.object({ table_name: z.string(), column_name: z.string(), data_type: z.string() });
const Sequence = z.object({ table_name: z.string(), sequence: z.string() });
const Last = z.object({ last: z.string().nullable() });
const Texts = z.record(z.string(), z.string().nullable());

/**
 * A PostgreSQL store as one side of a copy, in a transaction that holds the lock of all writers.
 * @param ownTables the tables that belong to the database, not to the data
 */
function postgresCopy(query: Query, ownTables: readonly string[]): CopyTarget {
  const isOwn = (table: string): boolean => ownTables.includes(table) || !isCopied(table);

  let found: Promise<ReadonlyMap<string, string>> | undefined;
  /** The sequence that numbers the rows of each table. Asked for once: it takes the server a moment. */
  const sequences = () => {
    found ??= readSequences(query);
    return found;
  };

  async function* batches({ name, columns }: TableShape): AsyncIterable<readonly Row[]> {
    const asText = columns.map((column) => `${quote(column.name)}::text as ${quote(column.name)}`);
    await query(`declare copied no scroll cursor for select ${asText.join()} from ${quote(name)}`);
    try {
      const count = OF_FILES.test(name) ? BATCH_ROWS_OF_FILES : BATCH_ROWS;
      for (;;) {
        const rows = await query(`fetch forward ${count} from copied`);
        if (rows.length === 0) return;
        yield rows.map((row) => {
          const texts = Texts.parse(row);
          return columns.map((column) => valueIn(column, texts[column.name] ?? null));
        });
      }
    } finally {
      await query('close copied').catch(() => undefined); // the transaction may have failed
    }
  }

  return {
    shapes: async () => {
      const found = await query(
        `select table_name, column_name, data_type from information_schema.columns where table_schema = current_schema()
         order by table_name, column_name collate "C"`,
      );
      const columns = Map.groupBy(
        found.map((info) => ColumnInfo.parse(info)).filter(({ table_name }) => !isOwn(table_name)),
        ({ table_name }) => table_name,
      );
      return [...columns].map(([name, infos]) => ({ name, columns: infos.map(columnOf) }));
    },
    batches,
    lastNumbers: async () => {
      const [state] = await query('select seq::text as last from cluster_state');
      const last = new Map([['events', BigInt(Last.parse(state).last ?? 0)]]);
      for (const [table, sequence] of await sequences()) {
        if (isOwn(table)) continue;
        const [row] = await query(`select case when is_called then last_value end::text as last from ${sequence}`);
        last.set(table, BigInt(Last.parse(row).last ?? 0));
      }
      return last;
    },
    clear: async ({ name }) => void (await query(`delete from ${quote(name)}`)),
    insert: async ({ name, columns }, rows) => {
      const places = rows.map((_, row) =>
        columns.map(({ kind }, place) => `$${row * columns.length + place + 1}::${TYPES[kind]}`),
      );
      await query(
        `insert into ${quote(name)} (${columns.map((column) => quote(column.name)).join()})
         values ${places.map((row) => `(${row.join()})`).join()}`,
        rows.flat().map((value) => (typeof value === 'bigint' ? value.toString() : value)),
      );
    },
    setLastNumber: async (table, last) => {
      if (table === 'events') {
        await query('update cluster_state set seq = $1::bigint, "commit" = "commit" + 1, alone = alone + 1', [
          last.toString(),
        ]);
        await query('drop table if exists search_state'); // an index that is there is of other events: it begins anew
        return;
      }
      const sequence = (await sequences()).get(table);
      if (sequence === undefined) throw new Error(`${table} gives its rows no numbers`);
      if (last > 0n) await query('select setval($1::regclass, $2::bigint)', [sequence, last.toString()]);
    },
  };
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

const TYPES: Record<Column['kind'], string> = { text: 'text', integer: 'bigint', real: 'double precision' };
const KINDS: Record<string, Column['kind']> = {
  text: 'text',
  bigint: 'integer',
  integer: 'integer',
  smallint: 'integer',
  'double precision': 'real',
};

function columnOf({ table_name, column_name, data_type }: z.infer<typeof ColumnInfo>): Column {
  const kind = KINDS[data_type];
  if (kind === undefined)
    throw new TypeError(`${table_name}.${column_name} has the type ${data_type}, which cannot be copied`);
  return { name: column_name, kind };
}

function valueIn({ kind }: Column, text: string | null): Value {
  if (text === null || kind === 'text') return text;
  return kind === 'integer' ? BigInt(text) : Number(text);
}

async function readSequences(query: Query): Promise<Map<string, string>> {
  const rows = await query(
    `select c.relname as table_name, s.oid::regclass::text as sequence
     from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_class c on c.oid = d.refobjid
     where d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i') and c.relnamespace = current_schema()::regnamespace`,
  );
  return new Map(rows.map((row) => Sequence.parse(row)).map(({ table_name, sequence }) => [table_name, sequence]));
}
