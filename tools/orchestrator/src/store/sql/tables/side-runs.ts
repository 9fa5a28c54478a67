import { SideRun, type SideRunState, type StageId } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import type { SideRunsTable } from '../../ports/check-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

/** How many runs are kept of a stage. */
const MAX_SAVED = 50;
const Identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
const toRun = documentOf(SideRun);

/** See `SideRunsTable`. */
export function sideRunsTable(db: Database): SideRunsTable {
  async function prune(stageId: StageId): Promise<void> {
    const saved = db.selectFrom('side_runs').select('ordinal').where('stage_id', '=', stageId);
    const last = await saved
      .orderBy('ordinal', 'desc')
      .offset(MAX_SAVED - 1)
      .limit(1)
      .executeTakeFirst();
    if (last === undefined) return;
    await db.deleteFrom('side_runs').where('stage_id', '=', stageId).where('ordinal', '<', last.ordinal).execute();
  }

  return {
    async listOf(stageId: StageId): Promise<SideRun[]> {
      const rows = db.selectFrom('side_runs').select('document').where('stage_id', '=', stageId);
      return (await rows.orderBy('ordinal', 'desc').execute()).map(toRun);
    },
    async listIn(states: readonly SideRunState[]): Promise<{ run: SideRun; process: ProcessIdentity | null }[]> {
      const rows = db.selectFrom('side_runs').select(['document', 'process']).where('state', 'in', states);
      return (await rows.orderBy('ordinal').execute()).map((row) => ({
        run: toRun(row),
        process: row.process === null ? null : Identity.parse(JSON.parse(row.process)),
      }));
    },
    async find(id: string): Promise<SideRun | null> {
      return mapRow(await db.selectFrom('side_runs').select('document').where('id', '=', id).executeTakeFirst(), toRun);
    },
    async save(run: SideRun): Promise<void> {
      const { id, stageId: stage_id, state } = run;
      const document = JSON.stringify(run);
      await db
        .insertInto('side_runs')
        .values({ id, stage_id, state, process: null, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ state, document }))
        .execute();
      await prune(run.stageId);
    },
    async setProcess(id: string, process: ProcessIdentity): Promise<void> {
      await db
        .updateTable('side_runs')
        .set({ process: JSON.stringify(process) })
        .where('id', '=', id)
        .execute();
    },
  };
}
