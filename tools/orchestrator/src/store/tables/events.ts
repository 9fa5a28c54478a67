import { BoardEvent, type NewEvent } from '@callboard/contract';
import type { Database } from '../database.ts';

/** The one log of changes. Numbers rise by one in the order of commits and are never used twice. */
export function eventsTable(db: Database) {
  /** The number of the newest event; 0 before the first. */
  async function lastSeq(): Promise<number> {
    const row = await db
      .selectFrom('events')
      .select((eb) => eb.fn.max('seq').as('seq'))
      .executeTakeFirst();
    return row?.seq ?? 0;
  }

  return {
    lastSeq,
    async append(event: NewEvent, at: string): Promise<BoardEvent> {
      const { seq } = await db
        .insertInto('events')
        .values({ at, type: event.type, data: JSON.stringify(event.data) })
        .returning('seq')
        .executeTakeFirstOrThrow();
      return { ...event, seq, at };
    },
    /** The number of the oldest event still kept; null when there is none. */
    async firstSeq(): Promise<number | null> {
      const row = await db
        .selectFrom('events')
        .select((eb) => eb.fn.min('seq').as('seq'))
        .executeTakeFirst();
      return row?.seq ?? null;
    },
    /**
     * Forgets all but the newest `keep` events, and those from before `olderThan`; the newest one always stays. Whoever
     * asks for what was forgotten is told to load the board anew.
     */
    async prune({ keep, olderThan }: { keep: number; olderThan: string }): Promise<void> {
      const last = await lastSeq();
      const old = await db
        .selectFrom('events')
        .select((eb) => eb.fn.max('seq').as('seq'))
        .where('at', '<', olderThan)
        .executeTakeFirst();
      const until = Math.min(last - 1, Math.max(last - keep, old?.seq ?? 0));
      await db.deleteFrom('events').where('seq', '<=', until).execute();
    },
    async since(seq: number, limit: number): Promise<BoardEvent[]> {
      const rows = await db
        .selectFrom('events')
        .selectAll()
        .where('seq', '>', seq)
        .orderBy('seq')
        .limit(limit)
        .execute();
      return rows.map((row) => BoardEvent.parse({ ...row, data: JSON.parse(row.data) }));
    },
  };
}
