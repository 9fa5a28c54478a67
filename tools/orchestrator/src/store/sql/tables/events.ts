import { BoardEvent, type NewEvent } from '@callboard/contract';
import { sql } from 'kysely';
import { mapInSlices } from '../../../lib/breath.ts';
import type { EventsTable, RetainedEvents } from '../../ports/log-tables.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';
import { builder, param, prepare } from '../prepared.ts';
import { rowsThatFit } from './page.ts';

const append = prepare(
  builder
    .insertInto('events')
    .values({ at: param('at'), type: param('type'), data: param('data') })
    .returning('seq'),
);

/** Adds an event to SQLite's log, which numbers it. */
export async function appendEvent(db: Database, event: NewEvent, at: string): Promise<BoardEvent> {
  const [row] = await append(db, { at, type: event.type, data: JSON.stringify(event.data) });
  return { ...event, seq: row?.seq ?? 0, at };
}

/** See `EventsTable`. */
export function eventsTable(db: Database): EventsTable {
  const lastSeq = () => dialectOf(db).lastSeq(db);

  /** The newest event that does not fit the newest `bytes` of data; 0 if all fit. */
  async function lastBeyond(bytes: number): Promise<number> {
    const sizes = db
      .selectFrom('events')
      .select(['seq', sql<number>`sum(octet_length(data)) over (order by seq desc)`.as('total')]);
    const row = await db
      .selectFrom(sizes.as('sizes'))
      .select((eb) => eb.fn.max('seq').as('seq'))
      .where('total', '>', bytes)
      .executeTakeFirst();
    return row?.seq ?? 0;
  }

  return {
    lastSeq,
    async prune({ save, retainBytes, olderThan }: RetainedEvents): Promise<void> {
      const last = await lastSeq();
      // Everything before the first young event, so an event written while the clock was wrong does not remove others.
      const young = await db
        .selectFrom('events')
        .select((eb) => eb.fn.min('seq').as('seq'))
        .where('at', '>=', olderThan)
        .executeTakeFirst();
      const old = (young?.seq ?? last) - 1;
      const until = Math.min(last - 1, Math.max(last - save, old, await lastBeyond(retainBytes)));
      await db.deleteFrom('events').where('seq', '<=', until).execute();
    },
    async since(seq: number, limit: number): Promise<BoardEvent[]> {
      const query = db.selectFrom('events').where('seq', '>', seq).orderBy('seq');
      const sizes = await query.select(sql<number>`octet_length(data)`.as('bytes')).limit(limit).execute();
      const rows = await query.selectAll().limit(rowsThatFit(sizes)).execute();
      return mapInSlices(rows, (row) => BoardEvent.parse({ ...row, data: JSON.parse(row.data) }));
    },
  };
}
