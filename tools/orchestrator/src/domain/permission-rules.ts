import type { RuleScope, Stage } from '@callboard/contract';
import type { KeptRule } from '../agent/permission-updates.ts';
import type { Tx } from '../store/store.ts';

/** Keeps what was granted, once each, and tells of it. */
export async function keepRules(
  tx: Tx,
  stage: Stage,
  scope: RuleScope,
  granted: readonly KeptRule[],
  { by, newId }: { by: string; newId: () => string },
): Promise<void> {
  const known = await tx.rules.listFor(stage.projectId, stage.id);
  const fresh = granted.filter(
    ({ kind, rule }) => !known.some((other) => other.kind === kind && other.rule === rule && other.scope === scope),
  );
  for (const { kind, rule } of fresh) {
    const place = { projectId: stage.projectId, stageId: scope === 'stage' ? stage.id : null };
    await tx.rules.insert({ ruleId: newId(), scope, ...place, kind, rule, by, createdAt: tx.now });
  }
  if (fresh.length > 0) await tellRules(tx, stage.projectId);
}

export async function tellRules(tx: Tx, projectId: Stage['projectId']): Promise<void> {
  await tx.emit({ type: 'rules-updated', data: { projectId, rules: await tx.rules.listOf(projectId) } });
}
