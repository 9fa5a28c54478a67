import type { RuleScope, Stage } from '@callboard/contract';
import type { KeptRule } from '../agent/permission-updates.ts';
import type { Tx } from '../store/store.ts';

/** Stores the granted rules that are new, and emits the new list if there are any. */
export async function keepRules(
  tx: Tx,
  stage: Stage,
  { scope, granted, by }: { scope: RuleScope; granted: readonly KeptRule[]; by: string },
): Promise<void> {
  const known = await tx.rules.listFor(stage.projectId, stage.id);
  const fresh = granted.filter(
    ({ kind, rule }) => !known.some((other) => other.kind === kind && other.rule === rule && other.scope === scope),
  );
  for (const { kind, rule } of fresh) {
    const place = { projectId: stage.projectId, stageId: scope === 'stage' ? stage.id : null };
    await tx.rules.insert({ ruleId: tx.newId(), scope, ...place, kind, rule, by, createdAt: tx.now });
  }
  if (fresh.length > 0) await tellRules(tx, stage.projectId);
}

/** Emits the rules of a project. */
export async function tellRules(tx: Tx, projectId: Stage['projectId']): Promise<void> {
  await tx.emit({ type: 'rules-updated', data: { projectId, rules: await tx.rules.listOf(projectId) } });
}
