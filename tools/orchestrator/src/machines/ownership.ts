import type { BoardEvent, MachineId, StageId } from '@callboard/contract';
import type { Logger } from '../lib/logger.ts';
import { retryWhileStoreFails } from '../store/retry-until-stored.ts';
import type { Store } from '../store/store.ts';

/** Which machine has which stage, from memory: as of the newest event that the store has published. */
export interface Ownership {
  /** Null for a stage that no machine has claimed. */
  ownerOf(stageId: StageId): MachineId | null;
  /** Whether this machine has it. */
  isMine(stageId: StageId): boolean;
  /** Whether an event concerns this machine: it is about its own stage, or about no stage. */
  concerns(event: BoardEvent): boolean;
  /** Reads all claims anew, as soon as the store answers: events about some may be missing. @throws the reason of `stop` */
  reload(): Promise<void>;
  stop(): void;
}

export interface FollowDeps {
  store: Pick<Store, 'read' | 'onEvent'>;
  log: Logger;
  here: MachineId;
}

/** Follows the claims of all machines. Listen to the store's events through it, or after it: it must hear of a claim first. */
export async function followOwnership({ store, log, here }: FollowDeps): Promise<Ownership> {
  const owners = new Map<StageId, MachineId>();
  /** The stages that were told of since the last read began. */
  const reported = new Set<StageId>();
  const stopped = new AbortController();
  const set = (stageId: StageId, owner: MachineId | null) =>
    owner === null ? owners.delete(stageId) : owners.set(stageId, owner);
  const unlisten = store.onEvent(({ type, data }) => {
    if (type !== 'stage-created' && type !== 'stage-updated') return;
    set(data.stageId, data.stage.machineId);
    reported.add(data.stageId);
  });

  async function load(): Promise<void> {
    reported.clear();
    const read = new Map((await store.read.stages.list()).map(({ id, machineId }) => [id, machineId]));
    // What was told meanwhile may be newer. If it is older, its newer event is still to come.
    for (const id of new Set([...owners.keys(), ...read.keys()])) if (!reported.has(id)) set(id, read.get(id) ?? null);
  }

  await load();
  const ownerOf = (stageId: StageId) => owners.get(stageId) ?? null;
  return {
    ownerOf,
    isMine: (stageId) => ownerOf(stageId) === here,
    concerns: ({ data }) => !('stageId' in data) || ownerOf(data.stageId) === here,
    reload: () => retryWhileStoreFails({ log, signal: stopped.signal }, load),
    stop() {
      unlisten();
      stopped.abort();
    },
  };
}
