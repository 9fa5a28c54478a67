import { PermissionRule, type ProjectId, type StageId, UsedRule } from '@callboard/contract';
import { sql } from 'kysely';
import type { RulesTable, RuleUse } from '../../ports/rules-table.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toRule = documentOf(PermissionRule);

/** How many of the calls that a rule let through most often are listed. */
const USED_FOR = 5;

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
    async addUse({ ruleId, stageId, toolUseId, asked, at }: RuleUse): Promise<void> {
      await db
        .insertInto('rule_uses')
        .values({ rule_id: ruleId, stage_id: stageId, tool_use_id: toolUseId, asked, at })
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
    });
  });
}
