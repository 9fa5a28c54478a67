import { PermissionRule, type ProjectId, RequestId, StageId, UsedRule } from '@callboard/contract';
import { sql } from 'kysely';
import type { DenialRetryIntent, RulesTable, RuleUse } from '../../ports/rules-table.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toRule = documentOf(PermissionRule);

/** How many of the calls that a rule let through most often are listed. */
const USED_FOR = 5;
/** How many of its newest uses are listed. */
const LAST_USES = 5;

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
    listUsed: (projectId) => listUsed(db, projectId),
    async listEnding(): Promise<PermissionRule[]> {
      const open = sql<boolean>`json_extract(document, '$.expiresAt') is not null and json_extract(document, '$.endedAt') is null`;
      return (await select().where(open).execute()).map(toRule);
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
    async addUse({ ruleId, stageId, toolUseId, entry, asked, at }: RuleUse): Promise<void> {
      await db
        .insertInto('rule_uses')
        .values({ rule_id: ruleId, stage_id: stageId, tool_use_id: toolUseId, entry, asked, at })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
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

async function listUsed(db: Database, projectId: ProjectId | undefined): Promise<UsedRule[]> {
  const rules = db.selectFrom('rules').select('document').orderBy('id');
  const rows = await (projectId === undefined ? rules : rules.where('project_id', '=', projectId)).execute();
  const uses = await db
    .selectFrom('rule_uses')
    .select(['rule_id', 'asked'])
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.max('at').as('last')])
    .groupBy(['rule_id', 'asked'])
    .orderBy('count', 'desc')
    .orderBy('asked')
    .execute();
  const byRule = Map.groupBy(uses, (use) => use.rule_id);
  const lastUses = await newestUses(db);
  return rows.map(toRule).map((rule) => {
    const of = byRule.get(rule.ruleId) ?? [];
    return UsedRule.parse({
      ...rule,
      uses: rule.kind === 'allow' ? of.reduce((sum, { count }) => sum + count, 0) : null,
      lastUsedAt:
        of
          .map(({ last }) => last)
          .toSorted()
          .at(-1) ?? null,
      usedFor: of.slice(0, USED_FOR).map(({ asked, count }) => ({ asked, count })),
      lastUses: lastUses.get(rule.ruleId) ?? [],
    });
  });
}

/** The newest uses of each rule, the last one first. */
async function newestUses(db: Database): Promise<ReadonlyMap<string, UsedRule['lastUses']>> {
  const place = sql<number>`row_number() over (partition by rule_id order by ordinal desc)`;
  const numbered = db.selectFrom('rule_uses').selectAll().select(place.as('place')).as('uses');
  const rows = await db.selectFrom(numbered).selectAll().where('place', '<=', LAST_USES).orderBy('place').execute();
  const uses = rows.map(({ rule_id, stage_id, entry, asked, at }) => {
    return { ruleId: rule_id, use: { stageId: StageId.parse(stage_id), entry, asked, at } };
  });
  const byRule = Map.groupBy(uses, ({ ruleId }) => ruleId);
  return new Map([...byRule].map(([ruleId, of]) => [ruleId, of.map(({ use }) => use)]));
}
