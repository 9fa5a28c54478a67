import { PermissionRule, type ProjectId, type StageId } from '@callboard/contract';
import type { RulesTable } from '../../ports/project-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toRule = documentOf(PermissionRule);

/** See `RulesTable`. */
export function rulesTable(db: Database): RulesTable {
  const select = () => db.selectFrom('rules').select('document').orderBy('id');
  return {
    async find(id: string): Promise<PermissionRule | null> {
      const row = await select().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toRule);
    },
    async listOf(projectId: ProjectId): Promise<PermissionRule[]> {
      return (await select().where('project_id', '=', projectId).execute()).map(toRule);
    },
    async listFor(projectId: ProjectId, stageId: StageId): Promise<PermissionRule[]> {
      const rows = select().where('project_id', '=', projectId);
      return (
        await rows.where((eb) => eb.or([eb('stage_id', 'is', null), eb('stage_id', '=', stageId)])).execute()
      ).map(toRule);
    },
    async insert(rule: PermissionRule): Promise<void> {
      const { ruleId: id, projectId, stageId } = rule;
      await db
        .insertInto('rules')
        .values({ id, project_id: projectId, stage_id: stageId, document: JSON.stringify(rule) })
        .execute();
    },
    async remove(id: string): Promise<void> {
      await db.deleteFrom('rules').where('id', '=', id).execute();
    },
  };
}
