import { ProjectId, StageId } from '@callboard/contract';
import { sql } from 'kysely';
import type { SpendingTable } from '../../ports/budget-tables.ts';
import type { Database } from '../database.ts';

/** See `SpendingTable`. */
export function spendingTable(db: Database): SpendingTable {
  return {
    async add({ day, stageId, projectId, usd, tokens }) {
      await db
        .insertInto('spending')
        .values({ day, stage_id: stageId, project_id: projectId, usd, tokens })
        .onConflict((conflict) =>
          conflict.columns(['day', 'stage_id']).doUpdateSet((row) => ({
            usd: sql<number>`${row.ref('spending.usd')} + ${usd}`,
            tokens: sql<number>`${row.ref('spending.tokens')} + ${tokens}`,
          })),
        )
        .execute();
    },
    async list(from, to) {
      const rows = await db
        .selectFrom('spending')
        .selectAll()
        .where('day', '>=', from)
        .where('day', '<=', to)
        .orderBy('day')
        .orderBy('stage_id')
        .execute();
      return rows.map(({ day, stage_id, project_id, usd, tokens }) => {
        const of = { stageId: StageId.parse(stage_id), projectId: ProjectId.parse(project_id) };
        return { day, ...of, usd: Number(usd.toFixed(9)), tokens };
      });
    },
  };
}
