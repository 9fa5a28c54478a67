import { z } from 'zod';
import { type Column, type CopyTarget, isCopied, type Row, type TableShape, type Value } from './table-rows.ts';

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
export function postgresCopy(query: Query, ownTables: readonly string[]): CopyTarget {
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
        await query('update cluster_state set seq = $1::bigint, "commit" = "commit" + 1', [last.toString()]);
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
