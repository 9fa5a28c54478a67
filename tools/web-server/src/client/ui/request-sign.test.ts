import { expect, it } from 'vitest';
import { requestSign } from './marks.tsx';

it('tells an approval by its tool, and every other request by its kind', () => {
  expect(
    ['Bash', 'Edit', 'Write', 'WebFetch', 'mcp__tracker__create'].map((tool) => requestSign('approval', tool)),
  ).toEqual(['command', 'edit', 'file', 'network', 'tool']);
  expect(requestSign('question', 'AskUserQuestion')).toBe('question');
  expect(requestSign('plan', 'ExitPlanMode')).toBe('plan');
  expect(requestSign('elicitation', '')).toBe('form');
  expect(requestSign('network', '')).toBe('network');
});
