import { expect, it } from 'vitest';
import { activityText } from './cards.ts';

const since = '2026-01-01T10:00:00.000Z';

it('tells a running command by itself, with its clock', () => {
  const now = { kind: 'tool', toolUseId: 'u1', action: 'npm test', isCommand: true, since } as const;
  expect(activityText(now)).toEqual({ kind: 'command', text: 'npm test', isCode: true, since });
});

it('tells the path of a file that is edited, so that its name stays where there is little room', () => {
  const now = { kind: 'tool', toolUseId: 'u1', action: 'Edit src/a.ts', isCommand: false, since } as const;
  expect(activityText(now)).toMatchObject({ text: 'Edit src/a.ts', path: 'src/a.ts' });
});

it('says what Claude writes: its own words, or the input of a tool', () => {
  expect(activityText({ kind: 'writing', text: 'The index is' })).toMatchObject({ kind: 'text', text: 'The index is' });
  expect(activityText({ kind: 'preparing', toolName: 'Write' })).toMatchObject({ text: 'writing a file' });
  expect(activityText({ kind: 'preparing', toolName: 'mcp__tracker__find' })).toMatchObject({
    text: 'preparing tracker: find',
  });
});
