import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { z } from 'zod';

type Row = Record<string, SQLOutputValue>;

/** What a stage left in the store: its rows by table, and its events. */
export interface StageRows {
  id: string;
  tables: ReadonlyMap<string, readonly Row[]>;
}

/** The store of a data directory that nothing else uses. */
export function openRows(dataDir: string): DatabaseSync {
  return new DatabaseSync(join(dataDir, 'store.sqlite'));
}

const Column = z.object({ name: z.string(), type: z.string(), pk: z.number() });

/** The columns of a table but the one that counts its rows. */
function columnsOf(database: DatabaseSync, table: string): string[] {
  const columns = database
    .prepare(`pragma table_info(${table})`)
    .all()
    .map((row) => Column.parse(row));
  const keys = columns.filter(({ pk }) => pk > 0);
  const counts = keys.length === 1 && keys[0]?.type.toLowerCase() === 'integer' ? keys[0].name : undefined;
  return columns.flatMap(({ name }) => (name === counts ? [] : [name]));
}

/** Reads all that the store has of a stage. */
export function rowsOf(database: DatabaseSync, id: string): StageRows {
  const tables = new Map<string, Row[]>();
  const names = database.prepare(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`);
  for (const name of ['stages', ...names.all().map((row) => String(row.name))]) {
    const columns = columnsOf(database, name);
    const condition = name === 'stages' ? 'id' : name === 'events' ? `json_extract(data, '$.stageId')` : 'stage_id';
    if (condition === 'stage_id' && !columns.includes('stage_id')) continue;
    const list = columns.map((column) => `"${column}"`).join(', ');
    tables.set(name, database.prepare(`select ${list} from "${name}" where ${condition} = ?`).all(id));
  }
  return { id, tables };
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/**
 * Writes a stage again and again, in one transaction: each copy is a stage of its own, with other ids.
 * @param copies the number of the first copy, which no stage may have, and how many there are
 * @param agoMs by how much earlier than the original a copy happened
 */
export function copyStage(
  database: DatabaseSync,
  { id, tables }: StageRows,
  copies: { from: number; count: number },
  agoMs: (n: number) => number = () => 0,
): void {
  const template = [...tables].flatMap(([table, rows]) =>
    rows.map((row) => ({ table, row, text: JSON.stringify(row) })),
  );
  const inserts = new Map(
    [...tables].flatMap(([table, [row]]) => {
      if (row === undefined) return [];
      const columns = Object.keys(row);
      const names = columns.map((column) => `"${column}"`).join(', ');
      return [
        [table, database.prepare(`insert into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`)],
      ];
    }),
  );
  const whole = new RegExp(`\\b${id}\\b`, 'g');
  database.exec('begin');
  for (let n = copies.from; n < copies.from + copies.count; n++) {
    const suffix = n.toString(16).padStart(8, '0');
    const earlier = agoMs(n);
    for (const { table, text } of template) {
      const copy = text
        .replaceAll(whole, `STAGE-${n}`)
        .replaceAll(UUID, (uuid) => uuid.slice(0, -8) + suffix)
        .replaceAll(INSTANT, (at) => new Date(Date.parse(at) - earlier).toISOString());
      const row: Row = JSON.parse(copy);
      inserts.get(table)?.run(...Object.values(row));
    }
  }
  database.exec('commit');
}

/** Copies the newest events until there are so many. */
export function multiplyEvents(database: DatabaseSync, count: number): void {
  const total = () => Number(database.prepare('select count(*) as total from events').get()?.total);
  const copy = database.prepare(
    `insert into events (at, type, data)
     select at, type, data from (select * from events where type = 'stage-updated' order by seq limit ?) order by seq`,
  );
  database.exec('begin');
  for (let missing = count - total(); missing > 0; missing = count - total()) copy.run(missing);
  database.exec('commit');
}
