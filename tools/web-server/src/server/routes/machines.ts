import type { Relays } from './relay.ts';

/** The machines that share one store. */
export const machineRelays = {
  get_machines: {
    summary: 'List the machines',
    description:
      'The orchestrators that share one store on PostgreSQL; none with a store in a file. `here` is the one that answers. An unreachable machine has not renewed its lease since `since`: its sessions may go on, and nobody else starts its stages.',
  },
  declare_machine_lost: {
    summary: 'Declare a machine lost',
    description:
      'For a machine that is unreachable and will not come back soon. Its open requests are closed, and its stages are interrupted and can be started on other machines, from the branch that was pushed last. This stops Callboard there, not Claude Code: processes on that machine may go on with what they were told, until it comes back and ends them.',
    problems: ['unknown_machine', 'machine_reachable'],
  },
  remove_machine: {
    summary: 'Remove a lost machine',
    description:
      'Takes a machine that was declared lost off the list, and forgets where it has repositories, except for projects that no other machine has. Pins to it stay, and what is pinned to it waits. If it comes back with its data directory, it is listed again, and first ends what is no longer its own.',
    problems: ['unknown_machine', 'machine_not_lost'],
  },
} satisfies Relays;
