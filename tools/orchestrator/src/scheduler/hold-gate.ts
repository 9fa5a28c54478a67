import { isPaused } from '@callboard/contract';
import type { Store } from '../store/store.ts';
import type { StartGate } from './start-gates.ts';

/** Holds automatic starts of stages that are on hold, and keeps them from going on at the reset of a usage limit. */
export const createPauseGate =
  ({ store }: { store: Pick<Store, 'read'> }): StartGate =>
  async () => {
    const pauses = await store.read.holds.list();
    return (stage) => (isPaused(stage, pauses) ? { code: 'hold', reason: 'On hold', until: null } : null);
  };
