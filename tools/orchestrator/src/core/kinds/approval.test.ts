import { expect, it } from 'vitest';
import { toolInputProblem } from './approval.ts';

it.each([
  ['Bash', { command: 'ls', description: 'List', timeout: 5_000 }],
  ['Write', { file_path: '/w/a', content: '' }],
  ['Edit', { file_path: '/w/a', old_string: 'a', new_string: 'b', replace_all: false }],
  ['WebFetch', { url: 'https://example.org', prompt: 'Sum up' }],
  ['mcp__db__query', { sql: 7 }],
  ['constructor', { any: 'thing' }],
  ['__proto__', { any: 'thing' }],
])('accepts a changed input of %s: %o', (tool, input) => {
  expect(toolInputProblem(tool, input)).toBeNull();
});

it.each([
  ['Bash', { comand: 'ls' }, 'command'],
  ['Bash', { command: '' }, 'command'],
  ['Write', { file_path: '/w/a' }, 'content'],
  ['Edit', { file_path: '/w/a', new_string: 'b' }, 'old_string'],
  ['WebFetch', { url: 'example', prompt: 'x' }, 'url'],
])('names the problem in a changed input of %s: %o', (tool, input, text) => {
  expect(toolInputProblem(tool, input)).toContain(text);
});

it('refuses an empty input, as the CLI treats it as "unchanged"', () => {
  expect(toolInputProblem('Bash', {})).toContain('empty');
  expect(toolInputProblem('mcp__db__query', {})).toContain('empty');
});
