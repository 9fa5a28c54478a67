import { fieldsOf } from '@callboard/contract';
import { expect, it } from 'vitest';
import { answerOf, answersOf, fieldValueOf, formContent } from './approvals.ts';

const database = { question: 'Which database?', options: [{ label: 'SQLite' }, { label: 'PostgreSQL' }] };
const checks = {
  question: 'Which checks?',
  multiSelect: true,
  options: [{ label: 'Lint' }, { label: 'Types' }, { label: 'Tests' }],
};
const free = { question: 'Which name?' };

it.each([
  [database, '2', 'PostgreSQL'],
  [database, 'sqlite', 'SQLite'],
  [database, ' MySQL, if possible ', 'MySQL, if possible'],
  [checks, '3,1', 'Lint, Tests'],
  [checks, 'types, 1, 1', 'Lint, Types'],
  [free, '2', '2'],
])('takes an answer by number, label or words', (question, text, answer) => {
  expect(answerOf(question, text)).toBe(answer);
});

it.each([
  [database, '3', 'has no option 3; it has 2'],
  [database, '0', 'has no option 0'],
  [database, '1,2', 'takes one option, not 2'],
  [free, '  ', 'is empty'],
])('refuses an answer that does not fit', (question, text, message) => {
  expect(() => answerOf(question, text)).toThrow(message);
});

it('needs one answer for each question, in their order', () => {
  expect(answersOf([database, free], ['1', 'Ada'])).toEqual({ 'Which database?': 'SQLite', 'Which name?': 'Ada' });
  expect(() => answersOf([database, free], ['1'])).toThrow('needs 2 answers');
});

const fields = fieldsOf({
  requested_schema: {
    type: 'object',
    required: ['city'],
    properties: {
      city: { type: 'string' },
      nights: { type: 'integer' },
      class: { type: 'string', enum: ['a', 'b'], enumNames: ['First', 'Second'] },
      quiet: { type: 'boolean' },
    },
  },
});

it('fills in a form from field=value', () => {
  expect(formContent(fields, ['city=Paris=Nord', 'nights=3', 'class=Second', 'quiet=yes'])).toEqual({
    city: 'Paris=Nord',
    nights: 3,
    class: 'b',
    quiet: true,
  });
});

it.each([
  [['town=Berlin'], 'The fields are: city, nights, class, quiet'],
  [['city'], 'is no field=value'],
  [['nights=2'], 'needs a value for city'],
  [['city=x', 'nights=many'], 'nights: This is not a number'],
  [['city=x', 'class=c'], 'class is one of: First, Second'],
  [['city=x', 'quiet=maybe'], 'quiet is yes or no'],
])('refuses %j', (texts, text) => {
  expect(() => formContent(fields, texts)).toThrow(text);
});

it('takes the number of a choice', () => {
  const choice = fields.find(({ kind }) => kind === 'choice');
  expect(choice && fieldValueOf(choice, '2')).toBe('b');
});
