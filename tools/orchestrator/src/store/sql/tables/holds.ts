import { Pause, type PauseScope } from '@callboard/contract';
import type { PausesTable } from '../../ports/holds-table.ts';
import type { Database } from '../database.ts';
import { type RowCaches, wholeOf } from '../known-rows.ts';
import { builder, prepare } from '../prepared.ts';
import { documentOf } from './map-row.ts';

const toPause = documentOf(Pause);

const keyOf = (scope: PauseScope): string => ('projectId' in scope ? `project:${scope.projectId}` : 'all');

const listed = prepare(builder.selectFrom('holds').select('document').orderBy('scope'));

/** See `PausesTable`. */
export function pausesTable(db: Database, caches: RowCaches['holds']): PausesTable {
  return {
    list: () => wholeOf(caches, async () => (await listed(db, {})).map(toPause)),
    async save(pause) {
      caches.forgetAll();
      const document = JSON.stringify(pause);
      await db
        .insertInto('holds')
        .values({ scope: keyOf(pause.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      caches.forgetAll();
      await db.deleteFrom('holds').where('scope', '=', keyOf(scope)).execute();
    },
  };
}
