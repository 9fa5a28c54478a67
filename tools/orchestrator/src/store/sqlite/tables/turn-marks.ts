import type { TurnMarksTable } from '../../ports/review-tables.ts';
import type { Database } from '../database.ts';

/** How many marks of a stage are kept. */
const KEPT = 50;

/** See `TurnMarksTable`. */
export function turnMarksTable(db: Database): TurnMarksTable {
  return {
    async newestOf(stageId, before) {
      let marks = db.selectFrom('turn_marks').select(['at', 'tree']).where('stage_id', '=', stageId);
      if (before !== undefined) marks = marks.where('at', '<', before);
      return (await marks.orderBy('at', 'desc').limit(1).executeTakeFirst()) ?? null;
    },
    async save(stageId, { at, tree }) {
      await db
        .insertInto('turn_marks')
        .values({ stage_id: stageId, at, tree })
        .onConflict((conflict) => conflict.columns(['stage_id', 'at']).doUpdateSet({ tree }))
        .execute();
      const newest = db.selectFrom('turn_marks').select('at').where('stage_id', '=', stageId);
      await db
        .deleteFrom('turn_marks')
        .where('stage_id', '=', stageId)
        .where('at', 'not in', newest.orderBy('at', 'desc').limit(KEPT))
        .execute();
    },
  };
}
