import type { ViewedTable } from '../../ports/review-tables.ts';
import type { Database } from '../database.ts';

/** See `ViewedTable`. */
export function viewedTable(db: Database): ViewedTable {
  return {
    async listOf(stageId, person) {
      const rows = await db
        .selectFrom('viewed')
        .select(['path', 'version'])
        .where('stage_id', '=', stageId)
        .where('person', '=', person)
        .orderBy('path')
        .execute();
      return Object.fromEntries(rows.map(({ path, version }) => [path, version]));
    },
    async save(stageId, person, { path, version }) {
      await db
        .insertInto('viewed')
        .values({ stage_id: stageId, person, path, version })
        .onConflict((conflict) => conflict.columns(['stage_id', 'person', 'path']).doUpdateSet({ version }))
        .execute();
    },
    async remove(stageId, person, path) {
      await db
        .deleteFrom('viewed')
        .where('stage_id', '=', stageId)
        .where('person', '=', person)
        .where('path', '=', path)
        .execute();
    },
  };
}
