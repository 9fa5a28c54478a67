import { createHash } from 'node:crypto';
import type { StageId } from '@callboard/contract';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { PortRange } from '../store/ports/worktree-tables.ts';
import type { Store } from '../store/store.ts';
import { usedPorts } from './listening-ports.ts';

/** How many ports each stage has. */
export const PORTS_OF_A_STAGE = 10;
/** Below the ports that the system gives to outgoing connections, above those of well-known programs. */
const FIRST = 21_000;
const RANGES = 1_000;

/** The ports of the stages' worktrees. */
export interface Ports {
  /** Returns the stage's ports; reserves free ones if it has none, or if another program listens on one and `isIdle`. */
  reserve(stageId: StageId, isIdle: boolean): Promise<PortRange>;
  release(stageId: StageId): Promise<void>;
}

/** @param dataDir two Callboards on one machine begin at different ports */
export function createPorts({
  store,
  dataDir,
  used = usedPorts,
}: {
  store: Store;
  dataDir: string;
  used?: () => Promise<ReadonlySet<number>>;
}): Ports {
  const offset = createHash('sha256').update(dataDir).digest().readUInt16BE() % RANGES;
  const inTurn = createKeyedMutex();

  async function reserve(stageId: StageId, isIdle: boolean): Promise<PortRange> {
    const known = await store.read.portRanges.list();
    const taken = await used();
    const isFree = (base: number) =>
      Array.from({ length: PORTS_OF_A_STAGE }, (_, n) => base + n).every((port) => !taken.has(port));
    const own = known.find((range) => range.stageId === stageId);
    if (own !== undefined && (!isIdle || isFree(own.base))) return own;
    const range = { stageId, place: own?.place ?? freeSlot(known), base: freeBase(known, isFree) };
    await store.transact((tx) => tx.portRanges.save(range));
    return range;
  }

  /** If every range is in use, the first one not of another stage: a server then says itself what is in its way. */
  function freeBase(known: readonly PortRange[], isFree: (base: number) => boolean): number {
    const reserved = new Set(known.map(({ base }) => base));
    const all = Array.from({ length: RANGES }, (_, n) => FIRST + ((offset + n) % RANGES) * PORTS_OF_A_STAGE);
    const left = all.filter((base) => !reserved.has(base));
    return left.find(isFree) ?? left[0] ?? FIRST;
  }

  return {
    reserve: (stageId, isIdle) => inTurn('ports', () => reserve(stageId, isIdle)),
    release: (stageId) => store.transact((tx) => tx.portRanges.remove(stageId)),
  };
}

function freeSlot(known: readonly PortRange[]): number {
  const places = new Set(known.map(({ place }) => place));
  for (let place = 0; ; place++) if (!places.has(place)) return place;
}
