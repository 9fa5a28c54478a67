import type { TurnMark } from '../../going-back-records.ts';
import { MAX_MARKS, type TurnMarksTable } from '../../ports/review-tables.ts';
import type { Database } from '../database.ts';

const COLUMNS = ['at', 'tree', 'commit_id', 'place', 'conversation_id', 'phase_index'] as const;

/** See `TurnMarksTable`. */
export function turnMarksTable(db: Database): TurnMarksTable {
  return {
    async newestOf(stageId, before) {
      let marks = db.selectFrom('turn_marks').select(COLUMNS).where('stage_id', '=', stageId);
      if (before !== undefined) marks = marks.where('at', '<', before);
      return markOf(await marks.orderBy('at', 'desc').limit(1).executeTakeFirst());
    },
    async newestBefore(stageId, index) {
      const marks = db.selectFrom('turn_marks').select(COLUMNS).where('stage_id', '=', stageId);
      const earlier = marks.where('place', '<', index).where('commit_id', 'is not', null);
      return markOf(await earlier.orderBy('at', 'desc').limit(1).executeTakeFirst());
    },
    async conversationsOf(stageId) {
      const marks = db.selectFrom('turn_marks').select('conversation_id').where('stage_id', '=', stageId);
      const ids = (await marks.orderBy('at', 'desc').execute()).map((mark) => mark.conversation_id);
      return [...new Set(ids.filter((id) => id !== null))];
    },
    async countOf(stageId) {
      const counted = db.selectFrom('turn_marks').select(({ fn }) => fn.countAll().as('count'));
      return Number((await counted.where('stage_id', '=', stageId).executeTakeFirstOrThrow()).count);
    },
    async save(stageId, { at, tree, commit, place, conversationId, phaseIndex }) {
      const rest = { tree, commit_id: commit, place, conversation_id: conversationId, phase_index: phaseIndex };
      await db
        .insertInto('turn_marks')
        .values({ stage_id: stageId, at, ...rest })
        .onConflict((conflict) => conflict.columns(['stage_id', 'at']).doUpdateSet(rest))
        .execute();
      const newest = db.selectFrom('turn_marks').select('at').where('stage_id', '=', stageId);
      await db
        .deleteFrom('turn_marks')
        .where('stage_id', '=', stageId)
        .where('at', 'not in', newest.orderBy('at', 'desc').limit(MAX_MARKS))
        .execute();
    },
  };
}

interface Row {
  at: string;
  tree: string;
  commit_id: string | null;
  place: number | null;
  conversation_id: string | null;
  phase_index: number;
}

const markOf = (row: Row | undefined): TurnMark | null =>
  row === undefined
    ? null
    : {
        at: row.at,
        tree: row.tree,
        commit: row.commit_id,
        place: row.place,
        conversationId: row.conversation_id,
        phaseIndex: row.phase_index,
      };
