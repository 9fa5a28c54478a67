import type { Stage } from '@callboard/contract';
import { ELSEWHERE, type StartGate } from './start-gates.ts';

/** Where stages that nobody has claimed can run now. */
interface Placing {
  readonly here: string;
  placing(): Promise<
    (stage: Pick<Stage, 'projectId' | 'machine'>) => {
      chosen: string | null;
      able: readonly { id: string }[];
      why: string;
    }
  >;
}

/**
 * Leaves a stage to the machine that it is placed on. A stage that no connected machine can take waits, and says why. If all have
 * their slots full, each of them keeps it in its own queue, and the first one with room claims it.
 */
export const createMachineGate =
  (machines: Placing): StartGate =>
  async () => {
    const locationOf = await machines.placing();
    return (stage) => {
      if (stage.machineId !== null) return null;
      const { chosen, able, why } = locationOf(stage);
      if (able.length === 0) return { code: 'machine', reason: why, until: null };
      if (chosen === machines.here) return null;
      return chosen !== null || !able.some(({ id }) => id === machines.here) ? ELSEWHERE : null;
    };
  };
