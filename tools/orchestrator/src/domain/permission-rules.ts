import type { PermissionRule, PermissionUpdate, RuleScope, Stage } from '@callboard/contract';
import { z } from 'zod';
import type { Tx } from '../store/store.ts';

/** The updates of the CLI that can be kept, in its own shapes (seen with 2.1.330). */
const AllowRules = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })),
});
const Directories = z.looseObject({ type: z.literal('addDirectories'), directories: z.array(z.string()) });

export type Kept = Pick<PermissionRule, 'kind' | 'rule'>;

/** What of these updates can be kept beyond the session: allow rules and readable folders. A mode is not. */
export function keepable(updates: readonly PermissionUpdate[]): Kept[] {
  return updates.flatMap((update): Kept[] => {
    const allow = AllowRules.safeParse(update);
    if (allow.success) {
      return allow.data.rules.map(({ toolName, ruleContent }) => ({
        kind: 'allow',
        rule: ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
      }));
    }
    const folders = Directories.safeParse(update);
    return folders.success ? folders.data.directories.map((rule) => ({ kind: 'directory', rule })) : [];
  });
}

/**
 * With whatever destination the CLI suggested, an update goes to the session alone: anything else would be written
 * into the worktree, be committed with it, and vanish with it. Callboard itself keeps what is to be kept.
 */
export const forSession = (updates: readonly PermissionUpdate[]): PermissionUpdate[] =>
  updates.map((update) => ({ ...update, destination: 'session' }));

/** Keeps what was granted, once each, and tells of it. */
export async function keepRules(
  tx: Tx,
  stage: Stage,
  scope: RuleScope,
  granted: readonly Kept[],
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
