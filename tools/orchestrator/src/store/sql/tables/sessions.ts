import { StageId } from '@callboard/contract';
import type { SessionsTable } from '../../ports/session-tables.ts';
import { SessionRecord } from '../../records.ts';
import type { Database } from '../database.ts';
import type { RowCache } from '../known-rows.ts';
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
export function sessionsTable(db: Database, caches: RowCache<StageId, SessionRecord>): SessionsTable {
  function recordOf({ stageId, document }: { stageId: StageId; document: string }): SessionRecord {
    const saved = caches.find(stageId);
    if (saved !== undefined) return saved;
    const record = parse(stageId, document);
    caches.save(stageId, record);
    return record;
  }

  return {
    async list(): Promise<SessionRecord[]> {
      const rows = await db.selectFrom('sessions').select(['stage_id', 'document']).execute();
      return rows.map(({ stage_id, document }) => recordOf({ stageId: StageId.parse(stage_id), document }));
    },
    async find(stageId: StageId): Promise<SessionRecord | null> {
      const saved = caches.find(stageId);
      if (saved !== undefined) return saved;
      const row = await db.selectFrom('sessions').select('document').where('stage_id', '=', stageId).executeTakeFirst();
      return mapRow(row, ({ document }) => recordOf({ stageId, document }));
    },
    async save(record: SessionRecord): Promise<void> {
      await save(db, { stageId: record.stageId, state: record.state, document: JSON.stringify(record) });
      caches.save(record.stageId, record);
    },
  };
}
