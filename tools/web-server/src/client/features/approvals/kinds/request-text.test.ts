import { expect, it } from 'vitest';
import { asSentence } from '../../../lib/format.ts';
import { request } from '../../../test/samples.ts';
import { askPath, askSummary, askTitle } from './request-summary.ts';

const question = (count: number) => ({
  kind: 'question',
  toolName: 'AskUserQuestion',
  input: { questions: Array.from({ length: count }, (_, i) => ({ question: `Which ${i}?` })) },
});
const edit = { toolName: 'Edit', input: { file_path: '/w/src/a.ts' } };

it.each([
  ['Login: Run this command?', 'npm i', {}],
  ['Login: Edit src/a.ts?', 'Edit src/a.ts', edit],
  ['Login: Use github: create issue?', 'github: create issue', { toolName: 'mcp__github__create_issue', input: {} }],
  ['Login: A question', 'Which 0?', question(1)],
  ['Login: 2 questions', '2 questions: Which 0?', question(2)],
  ['Login: Review the plan', 'Review the plan', { kind: 'plan', toolName: 'ExitPlanMode', input: {} }],
])('%s', (title, summary, change) => {
  const asked = request('STAGE-1', 'r', change);
  expect(askTitle(asked, 'Login', '/w')).toBe(title);
  expect(askSummary(asked, '/w')).toBe(summary);
});

it('returns separately the path in its summary', () => {
  expect(askPath(request('STAGE-1', 'r', edit), '/w')).toBe('src/a.ts');
  expect(askPath(request('STAGE-1', 'r', { input: { command: 'cat src/a.ts' } }), '/w')).toBe('');
});

it('truncates a long path in a title to its beginning and its file', () => {
  const file_path = `/w/${'folder/'.repeat(20)}a.ts`;
  const title = askTitle(request('STAGE-1', 'r', { toolName: 'Edit', input: { file_path } }), 'Login', '/w');
  expect(title).toMatch(/^Login: Edit folder\/.*…\/a\.ts\?$/);
  expect(title.length).toBeLessThan(90);
});

it('makes a sentence from a phrase', () => {
  expect(asSentence('no rule allows it')).toBe('No rule allows it.');
  expect(asSentence('This one does. ')).toBe('This one does.');
});
