import { PhaseRun, type StageId } from '@callboard/contract';
import type { PhaseRunsTable } from '../../ports/check-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

/** See `PhaseRunsTable`. */
export function phaseRunsTable(db: Database): PhaseRunsTable {
  const newestOf = (stageId: StageId) =>
    db.selectFrom('phase_runs').where('stage_id', '=', stageId).orderBy('ordinal', 'desc').limit(1);
  return {
    async listOf(stageId: StageId): Promise<PhaseRun[]> {
      const rows = db.selectFrom('phase_runs').select('document').where('stage_id', '=', stageId);
      return (await rows.orderBy('ordinal').execute()).map(documentOf(PhaseRun));
    },
    async newest(stageId: StageId): Promise<PhaseRun | null> {
      return mapRow(await newestOf(stageId).select('document').executeTakeFirst(), documentOf(PhaseRun));
    },
    async insert(run: PhaseRun): Promise<void> {
      await db
        .insertInto('phase_runs')
        .values({ stage_id: run.stageId, document: JSON.stringify(run) })
        .execute();
    },
    async setNewest(run: PhaseRun): Promise<void> {
      const row = await newestOf(run.stageId).select('ordinal').executeTakeFirst();
      if (row === undefined) return;
      const document = JSON.stringify(run);
      await db.updateTable('phase_runs').set({ document }).where('ordinal', '=', row.ordinal).execute();
    },
  };
}
