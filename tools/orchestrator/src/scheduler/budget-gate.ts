import { type Budget, covers, scopeText, spentLimit, spentText } from '@callboard/contract';
import type { StartGate } from './start-gates.ts';

/** Keeps stages with a spent budget from starting automatically. @param list the budgets, with what was spent */
export const createBudgetGate =
  (list: () => Promise<Budget[]>): StartGate =>
  async () => {
    const spent = (await list()).flatMap((budget) => spentLimit(budget) ?? []);
    return ({ id, projectId }) => {
      const budget = spent.find(({ scope }) => covers(scope, { stageId: id, projectId }));
      if (budget === undefined) return null;
      const reason = `Budget ${scopeText(budget.scope)} spent: ${spentText(budget)}`;
      return { code: 'budget', reason, until: null };
    };
  };
