import { Draft, type StageId } from '@callboard/contract';
import type { DraftsTable } from '../../ports/stage-tables.ts';
import type { Database } from '../database.ts';
import { documentOf } from './map-row.ts';

/** See `DraftsTable`. */
export function draftsTable(db: Database): DraftsTable {
  return {
    async listOf(stageId: StageId): Promise<Draft[]> {
      const rows = await db
        .selectFrom('drafts')
        .select('document')
        .where('stage_id', '=', stageId)
        .orderBy('key')
        .execute();
      return rows.map(documentOf(Draft));
    },
    async save(draft: Draft): Promise<void> {
      const document = JSON.stringify(draft);
      await db
        .insertInto('drafts')
        .values({ stage_id: draft.stageId, key: draft.key, document })
        .onConflict((conflict) => conflict.columns(['stage_id', 'key']).doUpdateSet({ document }))
        .execute();
    },
    async remove(stageId: StageId, key: string): Promise<void> {
      await db.deleteFrom('drafts').where('stage_id', '=', stageId).where('key', '=', key).execute();
    },
  };
}
