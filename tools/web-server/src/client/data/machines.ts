import type { Machine, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { lostAfterProblem, type MachineChoice, machineChoice, machineLabel } from '../lib/machine-choice.ts';
import { boardQuery } from './queries.ts';

/** The machines of the board; none while there is only one. */
function useMachines(): readonly Machine[] {
  const { data = NONE } = useQuery({
    ...boardQuery,
    select: ({ machines }) => (machines.length > 1 ? machines : NONE),
  });
  return data;
}

const NONE: readonly Machine[] = [];

/** What a form offers; null while there is only one machine and the pin names none, so that there is nothing to choose. */
export function useMachineChoice(projectId: string, pin: string): MachineChoice | null {
  const { data: machines = NONE } = useQuery({ ...boardQuery, select: (view) => view.machines });
  return machines.length > 1 || pin !== '' ? machineChoice(machines, projectId, pin) : null;
}

/**
 * Why a project's time for declaring machines lost would have no effect; empty if it has.
 * @returns null while there is only one machine and no time is set, so that there is nothing to ask
 */
export function useLostAfterProblem(projectId: string, minutes: string): string | null {
  const { data: machines = NONE } = useQuery({ ...boardQuery, select: (view) => view.machines });
  return machines.length > 1 || minutes !== '' ? lostAfterProblem(machines, projectId, minutes) : null;
}

/** Where a stage is, in words; null while there is only one machine, and for a stage that nobody has started. */
export interface StagePosition {
  name: string;
  /** What is wrong with the machine, or null. */
  storageError: string | null;
}

export function useStagePosition({ machineId, lost }: Pick<StageView, 'machineId' | 'lost'>): StagePosition | null {
  const machines = useMachines();
  if (lost !== null)
    // whether or not that machine is still listed
    return { name: lost.machine, storageError: `Interrupted on ${lost.machine}, which was declared lost` };
  const machine = machines.find(({ id }) => id === machineId);
  if (machine === undefined) return null;
  const name = machineLabel(machine, machines);
  const { state } = machine;
  return { name, storageError: state === 'unreachable' ? `${name} is unreachable` : null };
}
