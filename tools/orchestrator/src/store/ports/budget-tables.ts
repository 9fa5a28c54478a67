import type { ProjectId, StageId } from '@callboard/contract';

/** What was spent. Tokens: what Claude read and wrote, and wrote to its cache; reads from the cache do not count. */
export interface Spending {
  usd: number;
  tokens: number;
}

/** What a stage has spent on one day. */
export interface DaySpending extends Spending {
  /** `2026-01-31`, the local day of the server when it became known. */
  day: string;
  projectId: ProjectId;
  stageId: StageId;
}

/** What was spent, by day and stage (decision 110). It stays when a stage is deleted. */
export interface SpendingTable {
  /** Adds to the day and the stage. */
  add(spent: DaySpending): Promise<void>;
  /** Returns what was spent on these days, both included, by day and stage. */
  list(from: string, to: string): Promise<DaySpending[]>;
}
