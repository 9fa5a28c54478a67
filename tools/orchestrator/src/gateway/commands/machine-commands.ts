import { Rejection } from '../../lib/errors.ts';
import type { Machines } from '../../machines/machines.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface MachineDeps {
  /** Null: one machine has everything. */
  machines: Machines | null;
}

export const machineCommands = ({
  machines,
}: MachineDeps): Pick<CommandHandlers, 'get_machines' | 'declare_machine_lost' | 'remove_machine'> => {
  const requireOthers = () => {
    if (machines === null) throw new Rejection('unknown_machine', 'This Callboard has no other machines.');
    return machines;
  };
  return {
    get_machines: async () => ({ machines: (await machines?.list()) ?? [], here: machines?.here ?? null }),
    declare_machine_lost: async ({ machineId }, { actor }) => ({
      machine: await requireOthers().declareLost(machineId, actor.name),
    }),
    remove_machine: async ({ machineId }) => ({ machine: await requireOthers().remove(machineId) }),
  };
};
