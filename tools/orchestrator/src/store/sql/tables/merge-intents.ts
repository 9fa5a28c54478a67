import type { StageId } from '@callboard/contract';
import type { MergeIntentsTable } from '../../ports/stage-tables.ts';
import { MergeIntent } from '../../records.ts';
import type { Database } from '../database.ts';
import { documentOf } from './map-row.ts';

/** See `MergeIntentsTable`. */
export function mergeIntentsTable(db: Database): MergeIntentsTable {
  return {
    async list(): Promise<MergeIntent[]> {
      const rows = await db.selectFrom('merge_intents').select('document').orderBy('stage_id').execute();
      return rows.map(documentOf(MergeIntent));
    },
    async save(intent: MergeIntent): Promise<void> {
      const document = JSON.stringify(intent);
      await db
        .insertInto('merge_intents')
        .values({ stage_id: intent.stageId, document })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ document }))
        .execute();
    },
    async remove(stageId: StageId): Promise<void> {
      await db.deleteFrom('merge_intents').where('stage_id', '=', stageId).execute();
    },
  };
}
