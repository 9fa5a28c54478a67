import type { Pause, PauseScope } from '@callboard/contract';

/** What people keep on hold beside single stages, which have a field for it: projects, or everything. */
export interface PausesTable {
  list(): Promise<Pause[]>;
  /** Inserts or replaces the hold of its scope. */
  save(pause: Pause): Promise<void>;
  remove(scope: PauseScope): Promise<void>;
}
