import type { Budget } from '@callboard/contract';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

interface BudgetsDialog {
  isOpen: boolean;
  /** The only budget to show; null: those of all stages, and of each project. */
  scope: Budget['scope'] | null;
}

const budgetsDialog = createStore<BudgetsDialog>(() => ({ isOpen: false, scope: null }));

/** Shows what is spent and how much may be. @param scope one budget; all if left out */
export const openBudgets = (scope: Budget['scope'] | null = null): void =>
  budgetsDialog.setState({ isOpen: true, scope });

export const closeBudgets = (): void => budgetsDialog.setState({ isOpen: false });

export const useBudgetsDialog = (): BudgetsDialog => useStore(budgetsDialog);
