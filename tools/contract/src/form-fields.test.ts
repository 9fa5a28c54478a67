import { expect, it } from 'vitest';
import { contentOf, fieldsOf, isFilledIn } from './approvals.ts';

const input = {
  message: 'Where to?',
  requested_schema: {
    type: 'object',
    properties: {
      city: { type: 'string', title: 'City' },
      nights: { type: 'integer', default: 2 },
      class: { type: 'string', enum: ['a', 'b'], enumNames: ['First', 'Second'] },
      quiet: { type: 'boolean' },
    },
    required: ['city'],
  },
};
const fields = fieldsOf(input);

it('reads the fields of the form', () => {
  expect(fields.map(({ label, kind, required }) => [label, kind, required])).toEqual([
    ['City', 'text', true],
    ['nights', 'number', false],
    ['class', 'choice', false],
    ['quiet', 'flag', false],
  ]);
  expect(fields[2]?.choices[0]).toEqual({ value: 'a', label: 'First' });
  expect(fieldsOf({})).toEqual([]);
});

it('sends each value as the type that the form asks for', () => {
  expect(contentOf(fields, { city: 'Oslo', nights: '3' })).toEqual({ city: 'Oslo', nights: 3, quiet: false });
});

it('requires the required fields, and numbers in number fields', () => {
  expect(isFilledIn(fields, {})).toBe(false);
  expect(isFilledIn(fields, { city: 'Oslo' })).toBe(true);
  expect(isFilledIn(fields, { city: 'Oslo', nights: 'many' })).toBe(false);
});
