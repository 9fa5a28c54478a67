import { StageId } from '@callboard/contract';
import type { SessionsTable } from '../../ports/session-tables.ts';
import { SessionRecord } from '../../records.ts';
import type { Database } from '../database.ts';
import type { KnownRows } from '../known-rows.ts';
import { builder, param, prepareWrite } from '../prepared.ts';
import { mapRow } from './map-row.ts';
import { parsedOnce } from './parsed-once.ts';

/** Each process of a shared store must read a record again that another one may have written. */
const parse = parsedOnce((text) => SessionRecord.parse(JSON.parse(text)));

const state = param('state');
const document = param('document');
const save = prepareWrite(
  builder
    .insertInto('sessions')
    .values({ stage_id: param('stageId'), state, document })
    .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ state, document })),
);

/** See `SessionsTable`. */
export function sessionsTable(db: Database, known: KnownRows<StageId, SessionRecord>): SessionsTable {
  function recordOf({ stageId, document }: { stageId: StageId; document: string }): SessionRecord {
    const kept = known.find(stageId);
    if (kept !== undefined) return kept;
    const record = parse(stageId, document);
    known.keep(stageId, record);
    return record;
  }

  return {
    async list(): Promise<SessionRecord[]> {
      const rows = await db.selectFrom('sessions').select(['stage_id', 'document']).execute();
      return rows.map(({ stage_id, document }) => recordOf({ stageId: StageId.parse(stage_id), document }));
    },
    async find(stageId: StageId): Promise<SessionRecord | null> {
      const kept = known.find(stageId);
      if (kept !== undefined) return kept;
      const row = await db.selectFrom('sessions').select('document').where('stage_id', '=', stageId).executeTakeFirst();
      return mapRow(row, ({ document }) => recordOf({ stageId, document }));
    },
    async save(record: SessionRecord): Promise<void> {
      await save(db, { stageId: record.stageId, state: record.state, document: JSON.stringify(record) });
      known.keep(record.stageId, record);
    },
  };
}
