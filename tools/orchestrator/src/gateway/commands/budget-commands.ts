import type { Budgets } from '../../budgets/budgets.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface BudgetDeps {
  budgets: Budgets;
  views: BoardViews;
}

type BudgetCommands = 'get_budgets' | 'put_budget' | 'continue_beyond_budget';

export const budgetCommands = ({ budgets, views }: BudgetDeps): Pick<CommandHandlers, BudgetCommands> => ({
  get_budgets: async () => ({ budgets: await budgets.list() }),
  put_budget: async (body) => {
    await budgets.put(body);
    return { budgets: await budgets.list() };
  },
  continue_beyond_budget: async ({ stageId }, { actor }) => {
    await budgets.continueBeyond(stageId, actor.name);
    return { session: await views.session(stageId) };
  },
});
