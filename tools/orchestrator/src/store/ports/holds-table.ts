import type { Hold, HoldScope } from '@callboard/contract';

/** What people keep on hold beside single stages, which have a field for it: projects, or everything. */
export interface HoldsTable {
  list(): Promise<Hold[]>;
  /** Inserts or replaces the hold of its scope. */
  save(hold: Hold): Promise<void>;
  remove(scope: HoldScope): Promise<void>;
}
