import { Budget, scopeKey } from '@callboard/contract';
import { z } from 'zod';
import type { BudgetsTable } from '../../ports/budget-tables.ts';
import type { Database } from '../database.ts';
import { type RowCaches, wholeOf } from '../known-rows.ts';
import { builder, prepare } from '../prepared.ts';
import { documentOf } from './map-row.ts';

const toBudget = documentOf(Budget.omit({ spent: true }).extend({ warnedFor: z.string().nullable() }));

const listed = prepare(builder.selectFrom('budgets').select('document').orderBy('scope'));

/** See `BudgetsTable`. */
export function budgetsTable(db: Database, caches: RowCaches['budgets']): BudgetsTable {
  return {
    list: () => wholeOf(caches, async () => (await listed(db, {})).map(toBudget)),
    async save(budget) {
      caches.forgetAll();
      const document = JSON.stringify(budget);
      await db
        .insertInto('budgets')
        .values({ scope: scopeKey(budget.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      caches.forgetAll();
      await db.deleteFrom('budgets').where('scope', '=', scopeKey(scope)).execute();
    },
  };
}
