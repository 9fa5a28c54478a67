import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

/** What a budget is for: a stage, a project, everything on one day (the local day of the server), or everything (`{}`). */
export const BudgetScope = z.union([
  z.strictObject({ stageId: StageId }),
  z.strictObject({ projectId: ProjectId }),
  z.strictObject({ day: z.literal(true) }),
  z.strictObject({}),
]);
export type BudgetScope = z.infer<typeof BudgetScope>;

/** What was spent. Tokens: what Claude read and wrote, and wrote to its cache; reads from the cache do not count. */
export const Spending = z.object({ usd: z.number(), tokens: z.number() });
export type Spending = z.infer<typeof Spending>;

const Usd = z.number().positive('must be more than 0').max(1_000_000, 'is more than 1,000,000');
const Tokens = z.int('must be a whole number').positive('must be more than 0').max(1e12, 'is more than 1e12');

/** A limit in money, in tokens, or both; null: none. */
export const Budget = z.object({
  scope: BudgetScope,
  usd: Usd.nullable(),
  tokens: Tokens.nullable(),
  /** So far, running turns included as far as Claude Code has reported them. */
  spent: Spending,
});
export type Budget = z.infer<typeof Budget>;

/** Replaces the budget of the scope. Without both limits, it is removed. */
export const BudgetBody = z.strictObject({
  scope: BudgetScope,
  usd: Usd.nullable().optional(),
  tokens: Tokens.nullable().optional(),
});
export type BudgetBody = z.infer<typeof BudgetBody>;

/** The limit of a budget that keeps a stage from its work. */
export const SpentBudget = z.object({
  scope: BudgetScope,
  unit: z.enum(['usd', 'tokens']),
  spent: z.number(),
  limit: z.number(),
});
export type SpentBudget = z.infer<typeof SpentBudget>;

/** The share of a budget at which a person is warned. */
const WARN_SHARE = 0.8;

/** Returns the fuller limit of a budget, with its figures. */
function fullerLimit({ scope, usd, tokens, spent }: Budget): SpentBudget | null {
  const money = usd === null ? null : ({ scope, unit: 'usd', spent: spent.usd, limit: usd } as const);
  const rest = tokens === null ? null : ({ scope, unit: 'tokens', spent: spent.tokens, limit: tokens } as const);
  if (money === null || rest === null) return money ?? rest;
  return rest.spent / rest.limit > money.spent / money.limit ? rest : money;
}

/** Returns the limit of a budget that is spent, with its figures; null if none is. */
export function spentLimit(budget: Budget): SpentBudget | null {
  const limit = fullerLimit(budget);
  return limit !== null && limit.spent >= limit.limit ? limit : null;
}

/** Returns the limit of a budget of which a person is warned, spent or nearly so; null if there is enough left. */
export function nearLimit(budget: Budget): SpentBudget | null {
  const limit = fullerLimit(budget);
  return limit !== null && limit.spent >= limit.limit * WARN_SHARE ? limit : null;
}

/** Whether what a stage spends counts for the budget. */
export function covers(scope: BudgetScope, { stageId, projectId }: { stageId: string; projectId: string }): boolean {
  if ('stageId' in scope) return scope.stageId === stageId;
  return 'projectId' in scope ? scope.projectId === projectId : true;
}

/** The scope as one word: equal for equal scopes. */
export function scopeKey(scope: BudgetScope): string {
  if ('stageId' in scope) return `stage:${scope.stageId}`;
  if ('projectId' in scope) return `project:${scope.projectId}`;
  return 'day' in scope ? 'day' : 'all';
}

/** An amount of money for people: `$4.20`; below ten cents with two digits that count: `$0.0042`. */
export function formatUsd(usd: number): string {
  const decimals = usd > 0 && usd < 0.1 ? Math.min(1 - Math.floor(Math.log10(usd)), 8) : 2;
  return `$${usd.toFixed(decimals)}`;
}

/** An amount for people: `$4.20`, `12,000 tokens`. */
export const formatAmount = (unit: SpentBudget['unit'], amount: number): string =>
  unit === 'usd' ? formatUsd(amount) : `${Math.round(amount).toLocaleString('en')} tokens`;

/** `$5.02 of $5.00`. */
export const spentText = ({ unit, spent, limit }: Omit<SpentBudget, 'scope'>): string =>
  unit === 'usd'
    ? `${formatAmount(unit, spent)} of ${formatAmount(unit, limit)}`
    : `${Math.round(spent).toLocaleString('en')} of ${formatAmount(unit, limit)}`;

/** Whose budget it is, after "the budget": "of today". */
export function scopeText(scope: BudgetScope): string {
  if ('stageId' in scope) return 'of this stage';
  if ('projectId' in scope) return 'of this project';
  return 'day' in scope ? 'of today' : 'of all stages';
}
