import type { Platform } from '../lib/edges.ts';
import type { Store } from '../store/store.ts';
import type { StageGate, StartGate } from './start-gates.ts';

export interface MemoryGateDeps {
  platform: Pick<Platform, 'availableMemory' | 'residentMemory'>;
  store: Pick<Store, 'read'>;
}

const MIB = 1_048_576;
/** What stays free after a start, for the work of the sessions that run: their commands, and the machine. */
const SAVED_BYTES = 400 * MIB;
/** What a `claude` takes until one has been measured (seen: 200 to 400 MB). */
const USUAL_BYTES = 300 * MIB;

/**
 * Holds automatic starts while the machine has no room for one more `claude`, which takes as much as those that run now do on average.
 * One that was just started does not hold all of its memory yet, so room is kept for it.
 */
export const createMemoryGate =
  ({ platform, store }: MemoryGateDeps): StartGate =>
  async () => {
    const live = (await store.read.launches.listNotEnded()).flatMap(({ process }) => process ?? []);
    const sizes = live.flatMap(({ pid }) => platform.residentMemory(pid) ?? []);
    return memoryGate(platform.availableMemory(), sizes);
  };

/** The gate of one pass. @param sizes what the living processes hold */
export function memoryGate(available: number, sizes: readonly number[]): StageGate {
  const mean = sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length);
  const needed = Math.max(USUAL_BYTES, mean);
  // The process of a stage that goes on may still be there.
  return ({ session }, starting) =>
    session?.launchId != null || available - starting * needed >= needed + SAVED_BYTES
      ? null
      : { code: 'memory', reason: 'Waits for memory', until: null };
}
