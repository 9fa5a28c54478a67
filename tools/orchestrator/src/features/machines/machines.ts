import type { Machine, MachineId } from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { Rejection } from '../../lib/errors.ts';

/** All machines that share the store, as people see them. */
export interface Machines {
  /** Null: one machine has everything. */
  readonly here: MachineId | null;
  list(): Promise<Machine[]>;
  /**
   * Declares a machine lost for a person: ends its epoch, so that nothing it writes counts any more, closes its open requests, and
   * takes its stages from it.
   * @throws Rejection `unknown_machine`, `machine_reachable`
   */
  declareLost(id: MachineId, actor: string): Promise<Machine>;
  /**
   * Takes a machine that was declared lost off the list, with the places of its repositories. Should it come back, it is listed
   * again, and knows that it was lost. Returns it as it was.
   * @throws Rejection `unknown_machine`, `machine_not_lost`
   */
  remove(id: MachineId): Promise<Machine>;
}

const refuse = () => Promise.reject(new Rejection('unknown_machine', 'This Callboard has no other machines.'));

/** With a store in a file there is one machine, and it has no name. */
export const NO_OTHERS: Machines = { here: null, list: async () => [], declareLost: refuse, remove: refuse };

export interface MachineDeps {
  machines: Machines;
}

export const machineCommands = ({
  machines,
}: MachineDeps): Pick<CommandHandlers, 'get_machines' | 'declare_machine_lost' | 'remove_machine'> => ({
  get_machines: async () => ({ machines: await machines.list(), here: machines.here }),
  declare_machine_lost: async ({ machineId }, { actor }) => ({
    machine: await machines.declareLost(machineId, actor.name),
  }),
  remove_machine: async ({ machineId }) => ({ machine: await machines.remove(machineId) }),
});
