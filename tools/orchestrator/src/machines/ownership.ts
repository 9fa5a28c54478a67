import type { BoardEvent, MachineId, StageId } from '@callboard/contract';
import type { Store } from '../store/store.ts';

/** Which machine has which stage, from memory: as of the newest event that the store has published. */
export interface Ownership {
  /** Null for a stage that no machine has claimed. */
  ownerOf(stageId: StageId): MachineId | null;
  /** Whether this machine has it. */
  isMine(stageId: StageId): boolean;
  /** Whether an event concerns this machine: it is about its own stage, or about no stage. */
  concerns(event: BoardEvent): boolean;
  stop(): void;
}

/** Follows the claims of all machines. Listen to the store's events through it, or after it: it must hear of a claim first. */
export async function followOwnership(store: Pick<Store, 'read' | 'onEvent'>, here: MachineId): Promise<Ownership> {
  const owners = new Map<StageId, MachineId>();
  const set = (stageId: StageId, owner: MachineId | null) =>
    owner === null ? owners.delete(stageId) : owners.set(stageId, owner);
  const stop = store.onEvent(({ type, data }) => {
    if (type === 'stage-created' || type === 'stage-updated') set(data.stageId, data.stage.machineId);
  });
  for (const { id, machineId } of await store.read.stages.list()) set(id, machineId);
  const ownerOf = (stageId: StageId) => owners.get(stageId) ?? null;
  return {
    ownerOf,
    isMine: (stageId) => ownerOf(stageId) === here,
    concerns: ({ data }) => !('stageId' in data) || ownerOf(data.stageId) === here,
    stop,
  };
}
