import { type PermissionRule, StageId, UsedRule } from '@callboard/contract';
import { sql } from 'kysely';
import type { RuleUse } from '../../ports/rules-table.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';

/** How many of the calls that a rule let through most often are listed. */
const USED_FOR = 5;
/** How many of its newest uses are listed. */
const LAST_USES = 5;

/** See `RulesTable.addUse`. */
export async function addUse(db: Database, { ruleId, stageId, toolUseId, entry, asked, at }: RuleUse): Promise<void> {
  const added = await db
    .insertInto('rule_uses')
    .values({ rule_id: ruleId, stage_id: stageId, tool_use_id: toolUseId, entry, asked, at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (added.numInsertedOrUpdatedRows !== 1n) return;
  await db
    .insertInto('rule_use_counts')
    .values({ rule_id: ruleId, asked, times: 1, last_at: at })
    .onConflict((conflict) =>
      conflict.columns(['rule_id', 'asked']).doUpdateSet({
        times: sql`rule_use_counts.times + 1`,
        last_at: dialectOf(db).greatest(sql.ref('rule_use_counts.last_at'), sql.ref('excluded.last_at')),
      }),
    )
    .execute();
}

/** See `RulesTable.withUse`. */
export async function withUse(db: Database, rules: readonly PermissionRule[]): Promise<UsedRule[]> {
  const ids = rules.map(({ ruleId }) => ruleId);
  const counts = await db
    .selectFrom('rule_use_counts')
    .selectAll()
    .where('rule_id', 'in', ids)
    .orderBy('times', 'desc')
    .orderBy('asked')
    .execute();
  const byRule = Map.groupBy(counts, ({ rule_id }) => rule_id);
  const lastUses = await newestUses(db, ids);
  return rules.map((rule) => {
    const of = byRule.get(rule.ruleId) ?? [];
    return UsedRule.parse({
      ...rule,
      uses: rule.kind === 'allow' ? of.reduce((sum, { times }) => sum + times, 0) : null,
      lastUsedAt:
        of
          .map(({ last_at }) => last_at)
          .toSorted()
          .at(-1) ?? null,
      usedFor: of.slice(0, USED_FOR).map(({ asked, times }) => ({ asked, count: times })),
      lastUses: lastUses.get(rule.ruleId) ?? [],
    });
  });
}

/** The newest uses of each of these rules, the last one first. */
async function newestUses(db: Database, ids: readonly string[]): Promise<ReadonlyMap<string, UsedRule['lastUses']>> {
  const rows = await db
    .selectFrom('rules')
    .innerJoin('rule_uses', (join) =>
      join.on(({ eb, selectFrom }) =>
        eb(
          'rule_uses.ordinal',
          'in',
          selectFrom('rule_uses as newest')
            .select('newest.ordinal')
            .whereRef('newest.rule_id', '=', 'rules.id')
            .orderBy('newest.ordinal', 'desc')
            .limit(LAST_USES),
        ),
      ),
    )
    .select(['rules.id', 'rule_uses.stage_id', 'rule_uses.entry', 'rule_uses.asked', 'rule_uses.at'])
    .where('rules.id', 'in', [...ids])
    .orderBy('rule_uses.ordinal', 'desc')
    .execute();
  const uses = rows.map(({ id, stage_id, entry, asked, at }) => {
    return { ruleId: id, use: { stageId: StageId.parse(stage_id), entry, asked, at } };
  });
  const byRule = Map.groupBy(uses, ({ ruleId }) => ruleId);
  return new Map([...byRule].map(([ruleId, of]) => [ruleId, of.map(({ use }) => use)]));
}
