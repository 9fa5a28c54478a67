import { PermissionRule, type ProjectId, RequestId, StageId } from '@callboard/contract';
import { sql } from 'kysely';
import type { DenialRetryIntent, RulesTable } from '../../ports/rules-table.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';
import { documentOf, mapRow } from './map-row.ts';
import { addUse, withUse } from './rule-uses.ts';

const toRule = documentOf(PermissionRule);

const appliesAt =
  (at: string) =>
  ({ endedAt, expiresAt }: PermissionRule): boolean =>
    endedAt === null && (expiresAt === null || expiresAt > at);

/** See `RulesTable`. */
export function rulesTable(db: Database): RulesTable {
  const select = () => db.selectFrom('rules').select('document').orderBy('id');
  const ever = async (projectId: ProjectId, stageId: StageId): Promise<PermissionRule[]> => {
    const rows = select().where('project_id', '=', projectId);
    const found = await rows.where((eb) => eb.or([eb('stage_id', 'is', null), eb('stage_id', '=', stageId)])).execute();
    return found.map(toRule);
  };
  return {
    async find(id: string): Promise<PermissionRule | null> {
      const row = await select().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toRule);
    },
    async listOf(projectId, at): Promise<PermissionRule[]> {
      const rows = await select().where('project_id', '=', projectId).execute();
      return rows.map(toRule).filter(appliesAt(at));
    },
    listFor: async (projectId, stageId, at) => (await ever(projectId, stageId)).filter(appliesAt(at)),
    listEver: ever,
    async listAll(projectId): Promise<PermissionRule[]> {
      const rows = projectId === undefined ? select() : select().where('project_id', '=', projectId);
      return (await rows.execute()).map(toRule);
    },
    withUse: (rules) => withUse(db, rules),
    async listEnding(): Promise<PermissionRule[]> {
      const field = (path: string) => dialectOf(db).text(sql.ref('document'), path);
      const ending = select().where(field('expiresAt'), 'is not', null).where(field('endedAt'), 'is', null);
      return (await ending.execute()).map(toRule);
    },
    async save(rule: PermissionRule): Promise<void> {
      const { ruleId: id, projectId, stageId } = rule;
      const document = JSON.stringify(rule);
      await db
        .insertInto('rules')
        .values({ id, project_id: projectId, stage_id: stageId, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ document }))
        .execute();
    },
    addUse: (use) => addUse(db, use),
    async dismissals(projectId, rules): Promise<ReadonlyMap<string, number>> {
      const found = db.selectFrom('rule_dismissals').select(['rule', 'times']).where('project_id', '=', projectId);
      const rows = await found.where('rule', 'in', [...rules]).execute();
      return new Map(rows.map(({ rule, times }) => [rule, times]));
    },
    async saveDismissal(projectId, rule, times): Promise<void> {
      await db
        .insertInto('rule_dismissals')
        .values({ project_id: projectId, rule, times })
        .onConflict((conflict) => conflict.columns(['project_id', 'rule']).doUpdateSet({ times }))
        .execute();
    },
    async addRetry({ stageId, requestId, actor }): Promise<void> {
      await db
        .insertInto('denial_retries')
        .values({ stage_id: stageId, request_id: requestId, actor })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async listRetries(): Promise<DenialRetryIntent[]> {
      const rows = await db.selectFrom('denial_retries').selectAll().execute();
      return rows.map(({ stage_id, request_id, actor }) => {
        return { stageId: StageId.parse(stage_id), requestId: RequestId.parse(request_id), actor };
      });
    },
    async removeRetry(stageId, requestId): Promise<DenialRetryIntent | null> {
      const of = db.deleteFrom('denial_retries').where('stage_id', '=', stageId).where('request_id', '=', requestId);
      const removed = await of.returning('actor').executeTakeFirst();
      return removed === undefined ? null : { stageId, requestId, actor: removed.actor };
    },
  };
}
