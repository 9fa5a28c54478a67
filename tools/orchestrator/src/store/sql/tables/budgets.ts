import { Budget, scopeKey } from '@callboard/contract';
import { z } from 'zod';
import type { BudgetsTable } from '../../ports/budget-tables.ts';
import type { Database } from '../database.ts';
import { documentOf } from './map-row.ts';

const toBudget = documentOf(Budget.omit({ spent: true }).extend({ warnedFor: z.string().nullable() }));

/** See `BudgetsTable`. */
export function budgetsTable(db: Database): BudgetsTable {
  return {
    async list() {
      const rows = await db.selectFrom('budgets').select('document').orderBy('scope').execute();
      return rows.map(toBudget);
    },
    async save(budget) {
      const document = JSON.stringify(budget);
      await db
        .insertInto('budgets')
        .values({ scope: scopeKey(budget.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      await db.deleteFrom('budgets').where('scope', '=', scopeKey(scope)).execute();
    },
  };
}
