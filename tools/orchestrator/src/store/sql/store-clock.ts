import { sql } from 'kysely';
import type { Database } from './database.ts';
import { dialectOf } from './dialect.ts';

/** Returns the store's own clock, in milliseconds since 1970: one for all machines, whatever their clocks say. */
export async function storeNowMs(db: Database): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${dialectOf(db).nowMs} as now`.execute(db);
  const now = rows[0]?.now;
  if (now === undefined) throw new Error('the store did not tell its time');
  return now;
}
