import type { Machine, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from './queries.ts';

/** The machines of the board; none while there is only one. */
export function useMachines(): readonly Machine[] {
  const { data = NONE } = useQuery({
    ...boardQuery,
    select: ({ machines }) => (machines.length > 1 ? machines : NONE),
  });
  return data;
}

const NONE: readonly Machine[] = [];

/** Where a stage is, in words; null while there is only one machine, and for a stage that nobody has started. */
export interface StagePlace {
  name: string;
  /** What is wrong with the machine, or null. */
  trouble: string | null;
}

export function useStagePlace({ machineId, lost }: Pick<StageView, 'machineId' | 'lost'>): StagePlace | null {
  const machines = useMachines();
  if (lost !== null && machines.length > 0)
    return { name: lost.machine, trouble: `Interrupted on ${lost.machine}, which was declared lost` };
  const machine = machines.find(({ id }) => id === machineId);
  if (machine === undefined) return null;
  const { name, state } = machine;
  return { name, trouble: state === 'unreachable' ? `${name} is unreachable` : null };
}
