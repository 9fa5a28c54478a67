import { sampleRequest } from '@callboard/contract/samples';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deny } from '../../features/approvals/approvals.ts';
import { formContentProblem } from './elicitation.ts';

const form = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer' },
    rate: { type: 'number' },
    isNew: { type: 'boolean' },
    color: { type: 'string', enum: ['red', 'green'] },
    free: { title: 'Anything' },
  },
  required: ['name'],
};

it.each([{ name: 'Ada' }, { name: 'Ada', age: 36, rate: 1.5, isNew: false, color: 'red', free: [1] }])(
  'has nothing against %o',
  (content) => {
    expect(formContentProblem(form, content)).toBeNull();
  },
);

it.each([
  [{}, '"name" is required'],
  [{ name: '' }, '"name" is required'],
  [{ name: 7 }, '"name" must be a string'],
  [{ name: 'Ada', age: 1.5 }, '"age" must be a whole number'],
  [{ name: 'Ada', rate: '1' }, '"rate" must be a number'],
  [{ name: 'Ada', isNew: 'yes' }, '"isNew" must be a boolean'],
  [{ name: 'Ada', color: 'blue' }, 'one of "red", "green"'],
  [{ name: 'Ada', colour: 'red' }, '"colour" is not a field'],
  [{ name: 'Ada', constructor: 'x' }, '"constructor" is not a field'],
])('names the problem in %o', (content, text) => {
  expect(formContentProblem(form, content)).toContain(text);
});

it('does not accept an inherited property as the content of a required field', () => {
  expect(formContentProblem({ properties: {}, required: ['constructor'] }, {})).toContain('is required');
});

it('accepts any content for a form that it cannot read, as the MCP server validates it', () => {
  fc.assert(fc.property(fc.jsonValue(), (schema) => void formContentProblem(schema, { any: 'thing' })));
  expect(formContentProblem(undefined, { any: 'thing' })).toBeNull();
  expect(formContentProblem({ properties: 'odd' }, { any: 'thing' })).toBeNull();
});

it('is closed without an answer by cancel, which is for forms alone', () => {
  const asked = sampleRequest({ kind: 'elicitation', toolName: 'elicitation', displayName: 'tracker' });
  expect(deny(asked, {}).response).toEqual({ action: 'decline' });
  expect(deny(asked, { cancel: true }).response).toEqual({ action: 'cancel' });
  expect(() => deny(sampleRequest(), { cancel: true })).toThrow('closes a form of an MCP server');
});
