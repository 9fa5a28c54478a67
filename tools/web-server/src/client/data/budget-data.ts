import {
  type BoardView,
  type Budget,
  covers,
  nearLimit,
  type SessionSummary,
  type SpentBudget,
  type StageView,
  scopeKey,
  spentLimit,
  spentText,
  type TokenUsage,
} from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from './queries.ts';

/** The budget that keeps the stage from its work; null if none does. */
export function useBudgetAtStage(stage: StageView): SpentBudget | null {
  const { data: budgets = [] } = useQuery({ ...boardQuery, select: (view) => view.budgets });
  return budgetAtStage(stage, budgets);
}

/** The budget of a scope; null if there is none. */
export function useBudget(scope: Budget['scope']): Budget | null {
  const key = scopeKey(scope);
  const select = ({ budgets }: { budgets: Budget[] }) => budgets.find((one) => scopeKey(one.scope) === key) ?? null;
  return useQuery({ ...boardQuery, select }).data ?? null;
}

type Scope = Budget['scope'];

/** Whose budget it is: "Daily budget". */
export function budgetName(scope: Scope, { projects, stages }: Pick<BoardView, 'projects' | 'stages'>): string {
  if ('stageId' in scope) return `${stages.find(({ id }) => id === scope.stageId)?.title ?? scope.stageId} budget`;
  if ('projectId' in scope)
    return `${projects.find(({ id }) => id === scope.projectId)?.name ?? scope.projectId} budget`;
  return 'day' in scope ? 'Daily budget' : 'Total budget';
}

/** The budget that keeps the stage from its work; null if none does, or it has something else to do. */
function budgetAtStage(stage: StageView, budgets: readonly Budget[]): SpentBudget | null {
  const { session, completedAt } = stage;
  if (completedAt !== null || (session !== null && session.alarm !== null)) return null;
  if (session !== null) return session.state === 'busy' || session.state === 'starting' ? null : session.spentBudget;
  const of = { stageId: stage.id, projectId: stage.projectId };
  const spent = budgets.filter(({ scope }) => covers(scope, of)).map(spentLimit);
  return spent.find((one) => one !== null) ?? null;
}

/** What the board says of budgets that are spent or nearly so. A stage whose own budget is spent says so itself. */
export function budgetLines(view: Pick<BoardView, 'budgets' | 'projects' | 'stages'>): string[] {
  return view.budgets.flatMap((budget) => {
    const near = nearLimit(budget);
    if (near === null) return [];
    const name = budgetName(budget.scope, view);
    if (near.spent < near.limit) return [`${name} nearly spent: ${spentText(near)}.`];
    return 'stageId' in budget.scope ? [] : [`${name} spent: ${spentText(near)}. Nothing starts automatically.`];
  });
}

/** The session's cost and tokens, including the running turn as far as known. */
export function usageOf({ costUsd, tokens, turnUsage }: Pick<SessionSummary, 'costUsd' | 'tokens' | 'turnUsage'>): {
  costUsd: number;
  tokens: TokenUsage | null;
} {
  if (turnUsage === null) return { costUsd, tokens };
  const turn = turnUsage.tokens;
  return {
    costUsd: costUsd + turnUsage.costUsd,
    tokens: {
      input: (tokens?.input ?? 0) + turn.input,
      output: (tokens?.output ?? 0) + turn.output,
      cacheRead: (tokens?.cacheRead ?? 0) + turn.cacheRead,
      cacheCreation: (tokens?.cacheCreation ?? 0) + turn.cacheCreation,
    },
  };
}
