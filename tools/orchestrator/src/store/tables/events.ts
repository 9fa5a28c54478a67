import { BoardEvent, type NewEvent } from '@callboard/contract';
import type { Database } from '../database.ts';

/** The one log of changes. Numbers rise by one in the order of commits and are never used twice. */
export function eventsTable(db: Database) {
  return {
    async append(event: NewEvent, at: string): Promise<BoardEvent> {
      const { seq } = await db
        .insertInto('events')
        .values({ at, type: event.type, data: JSON.stringify(event.data) })
        .returning('seq')
        .executeTakeFirstOrThrow();
      return { ...event, seq, at };
    },
    /** The number of the newest event; 0 before the first. */
    async lastSeq(): Promise<number> {
      const row = await db
        .selectFrom('events')
        .select((eb) => eb.fn.max('seq').as('seq'))
        .executeTakeFirst();
      return row?.seq ?? 0;
    },
    /** The number of the oldest event still kept; null when there is none. */
    async firstSeq(): Promise<number | null> {
      const row = await db
        .selectFrom('events')
        .select((eb) => eb.fn.min('seq').as('seq'))
        .executeTakeFirst();
      return row?.seq ?? null;
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
