import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { Machine, MachineId } from './machines.ts';

/** The commands about machines, as `commands` has them. */
export const machineCommands = {
  /** Lists the machines that share this store; none with a store in a file. `here`: the one that answers. */
  get_machines: {
    route: 'GET /api/machines',
    runs: 'store',
    time: 'read',
    input: z.object({}),
    reply: z.object({ machines: z.array(Machine), here: MachineId.nullable() }),
  },
  /** Declares an unreachable machine lost, so that its stages can be started elsewhere. Its processes may go on. */
  declare_machine_lost: {
    route: 'POST /api/machines/:machineId/declare-lost',
    runs: 'store',
    time: 'slow',
    input: z.object({ machineId: MachineId }),
    reply: z.object({ machine: Machine }),
  },
  /** Takes a lost machine off the list. Should it come back, it is listed again. */
  remove_machine: {
    route: 'DELETE /api/machines/:machineId',
    runs: 'store',
    time: 'slow',
    input: z.object({ machineId: MachineId }),
    reply: z.object({ machine: Machine }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const machineDocs = (): DocsOf<typeof machineCommands> => {
  const machine = Machine.parse({
    id: '0194269f-8c00-7000-8000-000000000001',
    name: 'workshop',
    state: 'connected',
    since: '2026-01-02T09:00:00.000Z',
    seenAt: '2026-01-02T14:05:00.000Z',
    version: '0.1.0',
    claudeVersion: '2.1.330',
    load: 1.4,
    freeMemoryBytes: 9_000_000_000,
    memoryBytes: 16_000_000_000,
    sessions: 3,
    slots: 4,
    freeSlots: 2,
    projects: [the.project.id],
  });
  const lost = Machine.parse({
    ...machine,
    state: 'lost',
    since: '2026-01-02T14:40:00.000Z',
    sessions: 0,
    freeSlots: 0,
  });

  return {
    get_machines: {
      tag: 'board',
      summary: 'List the machines',
      description:
        'The orchestrators that share one store on PostgreSQL; none with a store in a file. `here` is the one that answers. An unreachable machine has not renewed its lease since `since`: its sessions may go on, and nobody else starts its stages.',
      example: { input: {}, reply: { machines: [machine], here: machine.id } },
    },
    declare_machine_lost: {
      tag: 'board',
      summary: 'Declare a machine lost',
      description:
        'For a machine that is unreachable and will not come back soon. Its open requests are closed, and its stages are interrupted and can be started on other machines, from the branch that was pushed last. This stops Callboard there, not Claude Code: processes on that machine may go on with what they were told, until it comes back and ends them.',
      problems: ['unknown_machine', 'machine_reachable'],
      example: { input: { machineId: lost.id }, reply: { machine: lost } },
    },
    remove_machine: {
      tag: 'board',
      summary: 'Remove a lost machine',
      description:
        'Takes a machine that was declared lost off the list, and forgets where it has repositories, except for projects that no other machine has. Pins to it stay, and what is pinned to it waits. If it comes back with its data directory, it is listed again, and first ends what is no longer its own.',
      problems: ['unknown_machine', 'machine_not_lost'],
      example: { input: { machineId: lost.id }, reply: { machine: lost } },
    },
  };
};
