import { MachineId, ProjectId } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { type Candidate, noMachineReason, placeStage } from './machines.ts';

const shop = ProjectId.parse('shop');
const idOf = (n: number) => MachineId.parse(`0194269f-8c00-7000-8000-00000000000${n}`);
const machine = (n: number, fields: Partial<Candidate> = {}): Candidate => ({
  id: idOf(n),
  name: `machine-${n}`,
  isConnected: true,
  freeSlots: 1,
  freeMemoryBytes: 1e9,
  projects: [shop],
  ...fields,
});
const chosen = (machines: Candidate[], pin: string | null = null) =>
  placeStage({ projectId: shop, pin }, machines).chosen;

describe('placeStage', () => {
  it('chooses the machine with most free memory among those with a free slot', () => {
    const full = machine(1, { freeMemoryBytes: 9e9, freeSlots: 0 });
    expect(chosen([full, machine(2, { freeMemoryBytes: 2e9 }), machine(3, { freeMemoryBytes: 4e9 })])).toBe(idOf(3));
    expect(chosen([full])).toBeNull();
  });

  it('leaves out machines that are unreachable, or lack the repository', () => {
    const away = machine(1, { isConnected: false, freeMemoryBytes: 9e9 });
    const other = machine(2, { projects: [], freeMemoryBytes: 9e9 });
    expect(chosen([away, other, machine(3)])).toBe(idOf(3));
    expect(chosen([away, other])).toBeNull();
  });

  it('follows a pin, by name in whatever case or by id, and takes no other machine', () => {
    const both = [machine(1, { freeMemoryBytes: 9e9 }), machine(2)];
    expect(chosen(both, 'Machine-2')).toBe(idOf(2));
    expect(chosen(both, idOf(2))).toBe(idOf(2));
    expect(chosen(both, 'machine-3')).toBeNull();
  });

  it('is the same on every machine, also among equals', () => {
    expect(chosen([machine(2), machine(1)])).toBe(idOf(1));
    expect(chosen([machine(1), machine(2)])).toBe(idOf(1));
  });
});

it('says why a stage runs nowhere', () => {
  const why = (machines: Candidate[], pin: string | null = null) => noMachineReason({ projectId: shop, pin }, machines);
  expect(why([machine(1, { projects: [] })])).toBe('No machine has its repository');
  expect(why([machine(1, { isConnected: false })])).toBe('machine-1 is unreachable');
  expect(why([machine(1, { isConnected: false }), machine(2, { isConnected: false })])).toBe(
    'All machines with its repository are unreachable',
  );
  expect(why([machine(1)], 'attic')).toBe('No machine is called attic');
  expect(why([machine(1, { projects: [] }), machine(2)], 'machine-1')).toBe('machine-1 does not have its repository');
});
