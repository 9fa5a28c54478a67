import { Rejection } from '../../lib/errors.ts';
import type { Machines } from '../../machines/machines.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface MachineParts {
  /** Null: one machine has everything. */
  machines: Machines | null;
}

export const machineCommands = ({
  machines,
}: MachineParts): Pick<CommandHandlers, 'get_machines' | 'declare_machine_lost'> => ({
  get_machines: async () => ({ machines: (await machines?.list()) ?? [], here: machines?.here ?? null }),
  declare_machine_lost: async ({ machineId }, { actor }) => {
    if (machines === null) throw new Rejection('unknown_machine', 'This Callboard has no other machines.');
    return { machine: await machines.declareLost(machineId, actor.name) };
  },
});
