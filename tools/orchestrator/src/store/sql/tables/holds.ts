import { Hold, type HoldScope } from '@callboard/contract';
import type { HoldsTable } from '../../ports/holds-table.ts';
import type { Database } from '../database.ts';
import { documentOf } from './map-row.ts';

const toHold = documentOf(Hold);

const keyOf = (scope: HoldScope): string => ('projectId' in scope ? `project:${scope.projectId}` : 'all');

/** See `HoldsTable`. */
export function holdsTable(db: Database): HoldsTable {
  return {
    async list() {
      return (await db.selectFrom('holds').select('document').orderBy('scope').execute()).map(toHold);
    },
    async save(hold) {
      const document = JSON.stringify(hold);
      await db
        .insertInto('holds')
        .values({ scope: keyOf(hold.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      await db.deleteFrom('holds').where('scope', '=', keyOf(scope)).execute();
    },
  };
}
