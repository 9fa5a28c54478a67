import { Capabilities, type ProjectId, type StageId } from '@callboard/contract';
import type { CapabilitiesTable } from '../../ports/project-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toCapabilities = documentOf(Capabilities);

/** See `CapabilitiesTable`. */
export function capabilitiesTable(db: Database): CapabilitiesTable {
  const newest = () => db.selectFrom('capabilities').select('capabilities.document').orderBy('at', 'desc').limit(1);
  return {
    async find(stageId: StageId): Promise<Capabilities | null> {
      return mapRow(await newest().where('stage_id', '=', stageId).executeTakeFirst(), toCapabilities);
    },
    async newestOf(projectId: ProjectId): Promise<Capabilities | null> {
      const rows = newest().innerJoin('stages', 'stages.id', 'capabilities.stage_id');
      return mapRow(await rows.where('project_id', '=', projectId).executeTakeFirst(), toCapabilities);
    },
    async newest(): Promise<Capabilities | null> {
      return mapRow(await newest().executeTakeFirst(), toCapabilities);
    },
    async save(stageId: StageId, at: string, capabilities: Capabilities): Promise<void> {
      const document = JSON.stringify(capabilities);
      await db
        .insertInto('capabilities')
        .values({ stage_id: stageId, at, document })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ at, document }))
        .execute();
    },
  };
}
