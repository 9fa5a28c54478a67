import type { Database } from '../database.ts';

const NAME = 'lived-until';

/**
 * How far time has certainly come. The time of day may be set a year forward and back again; this one is never ahead of
 * it, never goes back, and goes on only by what really went by while we ran. What is kept for so long, and then
 * forgotten for good, is forgotten by this.
 */
export function clockTable(db: Database) {
  async function livedUntil(): Promise<string | null> {
    const row = await db.selectFrom('counters').select('value').where('name', '=', NAME).executeTakeFirst();
    return row === undefined ? null : new Date(row.value).toISOString();
  }

  return {
    /** Null before the first `goOn`: then nothing is old. */
    livedUntil,
    /** So much went by, on the clock that nobody sets. The first time it begins where the newest event was, if there is one. */
    async goOn(now: string, elapsedMs: number): Promise<string> {
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
    /** The instant to remember of something that is made now and kept for long: not in the past, whatever the clock says. */
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
