import type { Budget, BudgetScope, ProjectId, Spending, StageId } from '@callboard/contract';

/** What a stage has spent on one day. */
export interface DaySpending extends Spending {
  /** `2026-01-31`, the local day of the server when it became known. */
  day: string;
  projectId: ProjectId;
  stageId: StageId;
}

/** What was spent, by day and stage (docs/decisions/limits.md). It stays when a stage is deleted. */
export interface SpendingTable {
  /** Adds to the day and the stage. */
  add(spent: DaySpending): Promise<void>;
  /** Returns what was spent on these days, both included, by day and stage. */
  list(from: string, to: string): Promise<DaySpending[]>;
  /** The sum over a stage, a project, a day, or everything. @param today the day that `{day: true}` means */
  sum(scope: BudgetScope, today: string): Promise<Spending>;
}

/** A stored budget. */
export type BudgetRecord = Omit<Budget, 'spent'> & {
  /** The period for which a person was warned; null: for none yet. */
  warnedFor: string | null;
};

export interface BudgetsTable {
  list(): Promise<BudgetRecord[]>;
  /** Inserts or replaces the budget of its scope. */
  save(budget: BudgetRecord): Promise<void>;
  remove(scope: BudgetScope): Promise<void>;
}
