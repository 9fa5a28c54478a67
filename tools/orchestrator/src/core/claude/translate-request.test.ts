import { expect, it } from 'vitest';
import { kindOfTool } from './translate.ts';

it.each([
  ['AskUserQuestion', 'question'],
  ['ExitPlanMode', 'plan'],
  ['SandboxNetworkAccess', 'network'],
  ['Bash', 'approval'],
  ['mcp__db__query', 'approval'],
  ['', 'approval'],
  ['constructor', 'approval'],
  ['__proto__', 'approval'],
])('takes a call of "%s" for a request of kind %s', (tool, kind) => {
  expect(kindOfTool(tool)).toBe(kind);
});
