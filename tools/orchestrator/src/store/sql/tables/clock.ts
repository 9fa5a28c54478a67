import type { ClockTable } from '../../ports/log-tables.ts';
import type { Database } from '../database.ts';
import { mapRow } from './map-row.ts';

const NAME = 'lived-until';

/** See `ClockTable`. Kept in `counters`, as milliseconds since the epoch. */
export function clockTable(db: Database): ClockTable {
  async function livedUntil(): Promise<string | null> {
    const row = await db.selectFrom('counters').select('value').where('name', '=', NAME).executeTakeFirst();
    return mapRow(row, ({ value }) => new Date(value).toISOString());
  }

  return {
    livedUntil,
    async advance(now: string, elapsedMs: number): Promise<string> {
      const today = Date.parse(now);
      const known = await livedUntil();
      const lived = known === null ? Math.min(today, await newestEvent(today)) : Date.parse(known);
      const value = Math.floor(Math.max(lived, Math.min(today, lived + elapsedMs)));
      await db
        .insertInto('counters')
        .values({ name: NAME, value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute();
      return new Date(value).toISOString();
    },
    async stamp(now: string): Promise<string> {
      const lived = await livedUntil();
      return lived !== null && lived > now ? lived : now;
    },
  };

  async function newestEvent(otherwise: number): Promise<number> {
    const row = await db.selectFrom('events').select('at').orderBy('seq', 'desc').limit(1).executeTakeFirst();
    return row === undefined ? otherwise : Date.parse(row.at);
  }
}
