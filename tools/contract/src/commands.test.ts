import { expect, it } from 'vitest';
import { commands, timeOf } from './commands.ts';

const stageId = 'STAGE-1';

it('accepts a message with text and a known mode, and no other fields', () => {
  const { input } = commands.send_message;
  expect(input.parse({ stageId, message: ' Go on\n' })).toEqual({ stageId, message: ' Go on\n' });
  expect(input.safeParse({ stageId, message: ' \n\t' }).success).toBe(false);
  expect(input.safeParse({ stageId, message: 'Go', mode: 'later' }).success).toBe(false);
  expect(input.safeParse({ stageId, message: 'Go', mod: 'now' }).success).toBe(false);
  expect(input.safeParse({ stageId: '../x', message: 'Go' }).success).toBe(false);
});

it('accepts an approval with allow or deny, and no misspelt field', () => {
  const { input } = commands.approve_tool;
  const answer = { stageId, requestId: 'r', decision: 'allow', updatedInput: { command: 'ls' } };
  expect(input.parse(answer)).toEqual(answer);
  expect(input.safeParse({ ...answer, decision: 'maybe' }).success).toBe(false);
  expect(input.safeParse({ ...answer, updatedinput: {} }).success).toBe(false);
  expect(input.safeParse({ ...answer, updatedInput: 'ls' }).success).toBe(false);
});

it('accepts a stage with title and prompt, and adds no defaults', () => {
  const { input } = commands.create_stage;
  expect(input.parse({ projectId: 'shop', title: ' A ', prompt: 'Do it' })).toEqual({
    projectId: 'shop',
    title: 'A',
    prompt: 'Do it',
  });
  expect(input.safeParse({ projectId: 'shop', title: ' ', prompt: 'Do it' }).success).toBe(false);
  expect(input.safeParse({ projectId: 'shop', title: 'A', prompt: 'Do it', priority: 10 }).success).toBe(false);
});

it('gives each command the time that its reply takes', () => {
  expect(timeOf('get_board')).toBe('read');
  expect(timeOf('start_stage')).toBe('slow');
  expect(timeOf('approve_tool')).toBe('normal');
  expect(timeOf('get_events')).toBe('normal');
});
