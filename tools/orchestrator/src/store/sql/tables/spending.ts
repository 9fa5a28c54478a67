import { ProjectId, StageId } from '@callboard/contract';
import { sql } from 'kysely';
import type { SpendingTable } from '../../ports/budget-tables.ts';
import type { Database } from '../database.ts';
import { builder, param, prepareWrite } from '../prepared.ts';

const add = prepareWrite(
  builder
    .insertInto('spending')
    .values({
      day: param('day'),
      stage_id: param('stageId'),
      project_id: param('projectId'),
      usd: param<number>('usd'),
      tokens: param<number>('tokens'),
    })
    .onConflict((conflict) =>
      conflict.columns(['day', 'stage_id']).doUpdateSet((row) => ({
        usd: sql<number>`${row.ref('spending.usd')} + ${row.ref('excluded.usd')}`,
        tokens: sql<number>`${row.ref('spending.tokens')} + ${row.ref('excluded.tokens')}`,
      })),
    ),
);

/** See `SpendingTable`. */
export function spendingTable(db: Database): SpendingTable {
  return {
    add: ({ day, stageId, projectId, usd, tokens }) => add(db, { day, stageId, projectId, usd, tokens }),
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
