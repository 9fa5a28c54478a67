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
    async sum(scope, today) {
      const sums = db
        .selectFrom('spending')
        .select((of) => [of.fn.sum<number | null>('usd').as('usd'), of.fn.sum<number | null>('tokens').as('tokens')]);
      let rows = sums;
      if ('stageId' in scope) rows = sums.where('stage_id', '=', scope.stageId);
      else if ('projectId' in scope) rows = sums.where('project_id', '=', scope.projectId);
      else if ('day' in scope) rows = sums.where('day', '=', today);
      const { usd, tokens } = await rows.executeTakeFirstOrThrow();
      return { usd: usd ?? 0, tokens: tokens ?? 0 };
    },
  };
}
