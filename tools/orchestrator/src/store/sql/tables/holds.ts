import { Hold, type HoldScope } from '@callboard/contract';
import type { HoldsTable } from '../../ports/holds-table.ts';
import type { Database } from '../database.ts';
import { type Known, wholeOf } from '../known-rows.ts';
import { builder, prepare } from '../prepared.ts';
import { documentOf } from './map-row.ts';

const toHold = documentOf(Hold);

const keyOf = (scope: HoldScope): string => ('projectId' in scope ? `project:${scope.projectId}` : 'all');

const listed = prepare(builder.selectFrom('holds').select('document').orderBy('scope'));

/** See `HoldsTable`. */
export function holdsTable(db: Database, known: Known['holds']): HoldsTable {
  return {
    list: () => wholeOf(known, async () => (await listed(db, {})).map(toHold)),
    async save(hold) {
      known.forgetAll();
      const document = JSON.stringify(hold);
      await db
        .insertInto('holds')
        .values({ scope: keyOf(hold.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      known.forgetAll();
      await db.deleteFrom('holds').where('scope', '=', keyOf(scope)).execute();
    },
  };
}
