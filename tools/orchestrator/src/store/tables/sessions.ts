import type { StageId } from '@callboard/contract';
import type { Database } from '../database.ts';
import { SessionRecord } from '../records.ts';

const toRecord = (row: { document: string }): SessionRecord => SessionRecord.parse(JSON.parse(row.document));

/** One session a stage. */
export function sessionsTable(db: Database) {
  return {
    async list(): Promise<SessionRecord[]> {
      return (await db.selectFrom('sessions').select('document').execute()).map(toRecord);
    },
    async find(stageId: StageId): Promise<SessionRecord | null> {
      const row = await db.selectFrom('sessions').select('document').where('stage_id', '=', stageId).executeTakeFirst();
      return row === undefined ? null : toRecord(row);
    },
    async save(record: SessionRecord): Promise<void> {
      const document = JSON.stringify(record);
      await db
        .insertInto('sessions')
        .values({ stage_id: record.stageId, state: record.state, document })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ state: record.state, document }))
        .execute();
    },
  };
}
