import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeTool } from './agent-event.ts';

it.each([
  ['Edit', { file_path: '/w/src/app.ts', old_string: 'a' }, 'Edit src/app.ts'],
  ['Read', { file_path: '/elsewhere/x' }, 'Read /elsewhere/x'],
  ['Bash', { command: 'cat /w/a\n  /w/b', description: 'Show both' }, 'Bash cat a b'],
  ['Grep', { pattern: 'TODO', path: '/w/src' }, 'Grep src'],
  ['WebFetch', { url: 'https://example.org', prompt: 'Sum up' }, 'WebFetch https://example.org'],
  ['Task', { description: 'Look around', prompt: 'Look for it' }, 'Task Look around'],
  ['Bash', { command: '  ', description: 'Nothing' }, 'Bash Nothing'],
  ['mcp__db__query', { sql: 'select 1' }, 'mcp__db__query'],
  ['ExitPlanMode', {}, 'ExitPlanMode'],
  ['Edit', { file_path: ['/w/a'] }, 'Edit'],
])('says in a few words what %s with %o is about', (tool, input, expected) => {
  expect(describeTool(tool, input, '/w')).toBe(expected);
});

it('shows whole paths where there is no worktree', () => {
  expect(describeTool('Edit', { file_path: '/w/src/app.ts' }, null)).toBe('Edit /w/src/app.ts');
});

it('is short and one line, whatever the call', () => {
  const key = fc.oneof(fc.constantFrom('file_path', 'command', 'prompt', 'constructor'), fc.string());
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary', maxLength: 400 }));
  fc.assert(
    fc.property(fc.dictionary(key, value), fc.option(fc.string()), (input, worktree) => {
      const text = describeTool('Bash', input, worktree);
      expect(text.startsWith('Bash')).toBe(true);
      expect(text.length).toBeLessThanOrEqual('Bash '.length + 120);
      expect(text).not.toMatch(/\n/);
    }),
  );
});

it('says that something was left out', () => {
  expect(describeTool('Bash', { command: 'x'.repeat(500) }, null)).toBe(`Bash ${'x'.repeat(119)}…`);
});
