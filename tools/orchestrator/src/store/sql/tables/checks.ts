import type { CheckState, StageId } from '@callboard/contract';
import type { ChecksTable } from '../../ports/check-tables.ts';
import { CheckRecord } from '../../records.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

/** How many runs are kept of a stage. */
const MAX_SAVED = 50;

/** See `ChecksTable`. */
export function checksTable(db: Database): ChecksTable {
  async function prune(stageId: StageId): Promise<void> {
    const saved = db.selectFrom('checks').select('ordinal').where('stage_id', '=', stageId).orderBy('ordinal', 'desc');
    const oldest = await saved
      .offset(MAX_SAVED - 1)
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) return;
    await db.deleteFrom('checks').where('stage_id', '=', stageId).where('ordinal', '<', oldest.ordinal).execute();
  }

  return {
    async listOf(stageId: StageId): Promise<CheckRecord[]> {
      const rows = db.selectFrom('checks').select('document').where('stage_id', '=', stageId);
      return (await rows.orderBy('ordinal', 'desc').execute()).map(documentOf(CheckRecord));
    },
    async listIn(states: readonly CheckState[]): Promise<CheckRecord[]> {
      const rows = db.selectFrom('checks').select('document').where('state', 'in', states);
      return (await rows.orderBy('ordinal').execute()).map(documentOf(CheckRecord));
    },
    async find(id: string): Promise<CheckRecord | null> {
      const row = await db.selectFrom('checks').select('document').where('id', '=', id).executeTakeFirst();
      return mapRow(row, documentOf(CheckRecord));
    },
    async save(run: CheckRecord): Promise<void> {
      const { id, stageId: stage_id, state } = run;
      const document = JSON.stringify(run);
      await db
        .insertInto('checks')
        .values({ id, stage_id, state, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ state, document }))
        .execute();
      await prune(run.stageId);
    },
  };
}
