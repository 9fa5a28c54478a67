import { Machine } from '@callboard/contract';
import * as the from './example-values.ts';

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
const lost = Machine.parse({ ...machine, state: 'lost', since: '2026-01-02T14:40:00.000Z', sessions: 0, freeSlots: 0 });

/** Example calls of the commands about machines. */
export const machineExamples = {
  get_machines: { input: {}, reply: { machines: [machine], here: machine.id } },
  declare_machine_lost: { input: { machineId: lost.id }, reply: { machine: lost } },
  remove_machine: { input: { machineId: lost.id }, reply: { machine: lost } },
};
