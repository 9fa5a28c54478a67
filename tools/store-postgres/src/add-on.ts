import type { SharedStores } from '@callboard/orchestrator/machines';
import { endSessionsIfCutOff, joinMachines } from './machines/join-machines.ts';
import { openPostgresSearchIndex, openPostgresStore } from './postgres-store.ts';

/** The add-on, which is loaded for a store that machines share. */
export const postgres: SharedStores = {
  openStore: openPostgresStore,
  endIfCutOff: endSessionsIfCutOff,
  openSearchIndex: openPostgresSearchIndex,
  joinMachines,
};
