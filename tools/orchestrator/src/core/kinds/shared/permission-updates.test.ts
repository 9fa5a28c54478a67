import { expect, it } from 'vitest';
import { permissionUpdatesProblem } from './definition.ts';

const rule = { rules: [{ toolName: 'Bash', ruleContent: 'npm *' }], behavior: 'allow' };
const problem = (update: { type: string; [field: string]: unknown }) => permissionUpdatesProblem([update], []);

it.each([
  { type: 'addRules', ...rule, destination: 'session' },
  { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'deny' },
  { type: 'removeRules', ...rule },
  { type: 'addDirectories', directories: ['/srv'], destination: 'localSettings' },
  { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
])('takes %j', (update) => {
  expect(problem(update)).toBeNull();
});

it.each([
  [{ type: 'nonsense' }, 'type'],
  [{ type: 'addRules' }, 'rules'],
  [{ type: 'addRules', ...rule, rules: 'Bash' }, 'rules'],
  [{ type: 'addRules', ...rule, rules: [] }, 'rules'],
  [{ type: 'addRules', ...rule, behavior: 'zap' }, 'behavior'],
  [{ type: 'addDirectories', directories: [''] }, 'directories'],
  [{ type: 'setMode', mode: 'zap' }, 'expected one of default, acceptEdits'],
  [{ type: 'setMode', mode: 'bypassPermissions' }, 'change the mode of the session instead'],
])('names what is wrong with %j', (update, text) => {
  expect(problem(update)).toContain('updatedPermissions[0]');
  expect(problem(update)).toContain(text);
});

it('takes what the CLI suggested itself, also in a shape that is not known', () => {
  const theirs = { type: 'grantRepository', name: 'shop' };
  expect(permissionUpdatesProblem([theirs], [theirs])).toBeNull();
  expect(permissionUpdatesProblem([{ ...theirs, name: 'bank' }], [theirs])).not.toBeNull();
});
