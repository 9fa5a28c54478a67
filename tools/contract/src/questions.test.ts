import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Answers, answersProblem, joinLabels, questionsOf } from './approvals.ts';

const database = {
  question: 'Which database?',
  header: 'Database',
  multiSelect: false,
  options: [{ label: 'SQLite', description: 'A file' }, { label: 'PostgreSQL' }],
};
const features = { question: 'Which features?', multiSelect: true, options: [{ label: 'A' }, { label: 'B' }] };
const asked = [database, features];

it('reads the questions of a call, with what it does not know of them', () => {
  const questions = questionsOf({ questions: [{ ...database, later: 1 }], more: true });
  expect(questions).toEqual([{ ...database, later: 1 }]);
});

it.each([
  ['no object', 'questions'],
  ['nothing', null],
  ['an input without questions', {}],
  ['an empty list', { questions: [] }],
  ['questions that are texts', { questions: ['Which?'] }],
  ['a question without its text', { questions: [database, { header: 'x' }] }],
])('finds no questions in %s', (_what, input) => {
  expect(questionsOf(input)).toEqual([]);
});

it('never throws, whatever the input', () => {
  fc.assert(fc.property(fc.anything(), (input) => void expect(questionsOf(input)).toBeInstanceOf(Array)));
});

it('has nothing against an answer to each question', () => {
  expect(answersProblem(asked, { 'Which database?': 'SQLite', 'Which features?': 'A, B' })).toBeNull();
  expect(answersProblem(asked, { 'Which database?': 'something else', 'Which features?': 'A' })).toBeNull();
});

it('names the question that has no answer', () => {
  expect(answersProblem(asked, { 'Which database?': 'SQLite' })).toContain('"Which features?" has no answer');
  expect(answersProblem(asked, { 'Which database?': ' \n', 'Which features?': 'A' })).toContain('Which database?');
});

it('names an answer that no question belongs to, such as one keyed by the header', () => {
  const problem = answersProblem([database], { Database: 'SQLite' });
  expect(problem).toContain('"Database" is not one of the questions');
});

it('does not take what every object has for an answer', () => {
  expect(answersProblem([{ question: 'constructor' }], {})).toContain('"constructor" has no answer');
});

it('asks for one answer only where the same question is asked twice', () => {
  expect(answersProblem([database, database], { 'Which database?': 'SQLite' })).toBeNull();
});

it('joins chosen labels the way the CLI reads them', () => {
  expect(joinLabels(['A', 'B'])).toBe('A, B');
  expect(joinLabels(['A'])).toBe('A');
});

it('keeps an answer to a question of any text', () => {
  for (const text of ['__proto__', 'constructor', 'toString', '']) {
    const written = JSON.stringify(Object.fromEntries([[text, 'yes']]));
    const answers = Answers.parse(JSON.parse(written));
    expect(Object.keys(answers)).toEqual([text]);
    expect(JSON.stringify(answers)).toBe(written);
    expect(Object.getPrototypeOf(answers)).toBe(Object.prototype);
    expect(answersProblem([{ question: text }], answers)).toBeNull();
  }
});

it.each([[null], ['SQLite'], [{ a: 1 }], [{ ['__proto__' as string]: 1 }], [['a']]])(
  'does not take %j for answers',
  (value) => {
    expect(Answers.safeParse(value).success).toBe(false);
  },
);
