import type { PermissionRule, RuleScope, Stage } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import type { SavedRule } from '../agent/permission-updates.ts';
import { hasPart, ruleMatch } from '../agent/rule-match.ts';
import { ownProperty } from '../lib/own-property.ts';
import type { Tx } from '../store/store.ts';
import type { EventContext } from './event-context.ts';

interface Grant {
  scope: RuleScope;
  granted: readonly SavedRule[];
  by: string;
  /** When the rules stop by themselves; null: never. */
  expiresAt: string | null;
  /** Whether a rule that holds for longer gets that end date as well: only where a person sets the end date of this very rule. */
  mayShorten?: boolean;
}

/**
 * Stores the granted rules, and emits the list of the project if it changed. A rule that applies there already gets the
 * new end date, if that is later or `mayShorten`.
 * @returns the granted rules, as they are stored
 */
export async function saveRules(
  tx: Tx,
  stage: Pick<Stage, 'projectId'> & { id: Stage['id'] | null },
  { scope, granted, by, expiresAt, mayShorten = false }: Grant,
): Promise<PermissionRule[]> {
  const { projectId } = stage;
  const stageId = scope === 'stage' ? stage.id : null;
  const known = (await tx.rules.listOf(projectId, tx.now)).filter((rule) => rule.stageId === stageId);
  let hasChanged = false;
  const saved: PermissionRule[] = [];
  for (const { kind, rule } of granted) {
    const before = known.find((other) => other.kind === kind && other.rule === rule);
    if (
      before !== undefined &&
      (before.expiresAt === expiresAt || !(mayShorten || isLater(expiresAt, before.expiresAt)))
    ) {
      saved.push(before);
      continue;
    }
    const made = { ruleId: tx.newId(), scope, projectId, stageId, kind, rule, by, createdAt: tx.now };
    const after = { endedAt: null, endedBy: null, ...(before ?? made), expiresAt };
    saved.push(after);
    await tx.rules.save(after);
    hasChanged = true;
  }
  if (hasChanged) await notifyRules(tx, projectId);
  return saved;
}

const isLater = (end: string | null, other: string | null): boolean => other !== null && (end === null || end > other);

/** Emits the rules of a project. */
export async function notifyRules(tx: Tx, projectId: Stage['projectId']): Promise<void> {
  await tx.emit({ type: 'rules-updated', data: { projectId, rules: await tx.rules.listOf(projectId, tx.now) } });
}

/** How many entries are searched for a call: it is among the newest when its result comes, but for many at once. */
const LOOKBACK = [10, 200];

/** Records which of the kept rules let a call run, if Claude Code says that it was a rule. */
export async function recordRuleUse(
  { tx, change }: EventContext,
  { toolUseId, ranBy }: Extract<AgentEvent, { type: 'tool-result' }>,
): Promise<void> {
  const { stageId } = change.record;
  if (ranBy !== 'rule' && ranBy !== 'parts') return;
  const stage = await tx.stages.find(stageId);
  const rules = stage === null ? [] : await tx.rules.listFor(stage.projectId, stageId, tx.now);
  const allowing = rules.filter(({ kind }) => kind === 'allow');
  if (allowing.length === 0) return;
  const use = await findUse({ tx, change }, toolUseId);
  if (use === null) return;
  const call = { ...use, folder: stage?.worktree?.path ?? null };
  const asked = ownProperty(change.record.calls, toolUseId)?.asked ?? use.toolName;
  const sure = allowing.filter(({ rule }) => hasPart(rule, call));
  const likely = allowing.filter(({ rule }) => ruleMatch(rule, call) === 'unsure');
  // A path or a redirection is compared by Claude Code alone; it says that some rule fitted, so the only one that may have did.
  const used = sure.length > 0 ? sure : likely.length === 1 && ranBy === 'rule' ? likely : [];
  for (const { ruleId } of used)
    await tx.rules.addUse({ ruleId, stageId, toolUseId, entry: use.index, asked, at: tx.now });
}

async function findUse({ tx, change }: Pick<EventContext, 'tx' | 'change'>, toolUseId: string) {
  const fresh = change.entries.findLast((entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId);
  if (fresh?.kind === 'tool-use') return fresh;
  for (const limit of LOOKBACK) {
    const page = await tx.transcript.page(change.record.stageId, { after: undefined, before: undefined, limit });
    const entry = page.findLast((one) => one.kind === 'tool-use' && one.toolUseId === toolUseId);
    if (entry?.kind === 'tool-use') return entry;
  }
  return null;
}
