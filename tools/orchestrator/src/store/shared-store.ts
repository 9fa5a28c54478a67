import type { DatabaseAddress } from '@callboard/runtime/database-url';
import type { Logger, Platform } from '../platform/runtime.ts';
import type { ThreadedIndexDeps } from './search/threaded-index.ts';
import type { Store, Tx } from './store.ts';

export interface SharedStoreOptions {
  address: DatabaseAddress;
  platform: Platform;
  log: Logger;
  diskPauseReason?: Tx['diskPauseReason'];
  /** Where the newest timeline is kept; without it, for as long as this process lives. */
  historyFile?: string;
  /**
   * Called when commits are gone that this process knows of: they were not synced, and the server crashed. What the process remembers is
   * ahead of the store then, which refuses to work for it: it has to start again, and reads from its spools what is missing.
   */
  onCommitsLost?: () => void;
}

/** A store that several machines share. */
export interface SharedStore extends Store {
  /** Refuses all further writes with `lease_lost` as soon as the machine has another epoch in the database. */
  fenceWith(fence: { machineId: string; epoch: number }): void;
}

export type SharedIndexOptions = Omit<ThreadedIndexDeps, 'thread' | 'mayGrow'> &
  Pick<SharedStoreOptions, 'address'> & { historyFile?: string | null };

/** A lease lasts several renewals; it counts as over `marginMs` early, since the two clocks need not run at one pace. */
export interface LeaseTimes {
  leaseMs: number;
  renewMs: number;
  marginMs: number;
}
