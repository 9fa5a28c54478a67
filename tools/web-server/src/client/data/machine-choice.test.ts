import { sampleMachine } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { machineChoice, machineLabel } from './machines.ts';

const id = (n: number) => `0194269f-8c00-7000-8000-00000000000${n}`;
const machine = (n: number, name: string, fields: object = {}) => sampleMachine({ id: id(n), name, ...fields });
const desk = machine(1, 'desk');
const attic = machine(2, 'attic');
const twin = machine(3, 'Attic');
const lost = machine(4, 'attic', { state: 'lost' });
const bare = machine(5, 'cellar', { projects: [] });

it('offers the machines that have the project, by name', () => {
  expect(machineChoice([desk, attic, bare, machine(6, 'gone', { state: 'lost' })], 'shop', '')).toEqual({
    options: [
      { value: 'desk', label: 'desk' },
      { value: 'attic', label: 'attic' },
    ],
    value: '',
    problem: null,
  });
});

it('tells machines of one name apart by their ids, also if only one of them has the project', () => {
  const { options } = machineChoice([desk, attic, twin], 'shop', '');
  expect(options).toEqual([
    { value: 'desk', label: 'desk' },
    { value: id(2), label: 'attic (…000002)' },
    { value: id(3), label: 'Attic (…000003)' },
  ]);
  expect(machineChoice([attic, { ...twin, projects: [] }], 'shop', '').options).toEqual([options[1]]);
  expect(machineLabel(attic, [attic, lost])).toBe('attic (…000002)');
});

it('leaves its name to the machine that was set up anew after one of that name was lost', () => {
  expect(machineChoice([attic, lost], 'shop', 'attic')).toEqual({
    options: [{ value: 'attic', label: 'attic' }],
    value: 'attic',
    problem: null,
  });
});

it.each([
  ['DESK', 'desk'],
  [id(1), 'desk'],
  [id(3), id(3)],
])('finds the option that %s means', (pin, value) => {
  expect(machineChoice([desk, attic, twin], 'shop', pin)).toMatchObject({ value, problem: null });
});

it.each([
  ['attic', [attic, twin], ' (several)', '2 machines are called attic.'],
  ['loft', [desk, attic], ' (unknown)', 'No machine is called loft, so nothing starts.'],
  ['attic', [desk, lost], ' (lost)', 'attic was declared lost, so nothing starts.'],
  ['cellar', [desk, bare], ' (no repository)', 'Add the project there'],
])('keeps %s chosen, and says what is wrong with it: %#', (pin, machines, note, problem) => {
  const choice = machineChoice(machines, 'shop', pin);
  expect(choice.options.at(-1)).toEqual({ value: pin, label: `${pin}${note}` });
  expect(choice).toMatchObject({ value: pin, problem: expect.stringContaining(problem) });
});
