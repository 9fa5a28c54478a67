import { isPinnedTo, type MachineId, type ProjectId } from '@callboard/contract';
import type { MachineRecord } from '../store/ports/machine-tables.ts';

/** What decides where a stage runs. */
export interface Placeable {
  projectId: ProjectId;
  /** The stage's own wish, or the project's; null: any machine. */
  pin: string | null;
}

/** A machine, with the projects whose repository it has. */
export type Candidate = Pick<MachineRecord, 'id' | 'name' | 'isConnected' | 'freeSlots' | 'freeMemoryBytes'> & {
  projects: readonly ProjectId[];
};

/**
 * Where a stage that nobody has claimed can run. `chosen`: the connected machine with a free slot that has most free memory; null
 * if none has a free slot. `able`: all connected machines that may take it, the best one first.
 */
export interface Placement {
  chosen: MachineId | null;
  able: readonly Candidate[];
}

/** Every machine computes the same from the same rows, so that all but one leave the stage alone. */
export function placeStage({ projectId, pin }: Placeable, machines: readonly Candidate[]): Placement {
  const able = machines
    .filter((one) => one.isConnected && one.projects.includes(projectId) && (pin === null || isPinnedTo(pin, one)))
    .toSorted(byRoom);
  return { chosen: able.find(({ freeSlots }) => freeSlots > 0)?.id ?? null, able };
}

const byRoom = (a: Candidate, b: Candidate): number =>
  Number(b.freeSlots > 0) - Number(a.freeSlots > 0) || b.freeMemoryBytes - a.freeMemoryBytes || (a.id < b.id ? -1 : 1);

/** Says why no connected machine can take the stage. */
export function noMachineReason({ projectId, pin }: Placeable, machines: readonly Candidate[]): string {
  const wanted = pin === null ? machines : machines.filter((one) => isPinnedTo(pin, one));
  const named = pin === null ? undefined : wanted[0];
  if (pin !== null && named === undefined) return `No machine is called ${pin}`;
  const having = wanted.filter(({ projects }) => projects.includes(projectId));
  if (having.length === 0)
    return named === undefined ? 'No machine has its repository' : `${named.name} does not have its repository`;
  const [first] = having;
  return having.length === 1 && first !== undefined
    ? `${first.name} is unreachable`
    : 'All machines with its repository are unreachable';
}
