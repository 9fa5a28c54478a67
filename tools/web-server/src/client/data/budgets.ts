import { type Budget, type SpentBudget, type StageView, scopeKey } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { budgetAtStage } from '../lib/budget-words.ts';
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
