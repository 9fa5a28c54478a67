import { expect, it } from 'vitest';
import { sampleDecision } from '../test/samples.ts';
import { CommandFrame, type CommandType, commands, ReplyFrame } from './commands.ts';

const stageId = 'STAGE-1';

it.each(Object.keys(commands) as CommandType[])('recognises the frame of %s, with and without an id', (type) => {
  expect(CommandFrame.parse({ type })).toEqual({ type });
  const frame = { type, id: '1', actor: { name: 'Ada' }, stageId };
  expect(CommandFrame.parse(frame)).toEqual(frame);
});

it('refuses a frame that names no command', () => {
  for (const type of ['open_pod_bay_doors', 'toString', '', undefined, 1]) {
    expect(CommandFrame.safeParse({ type }).success).toBe(false);
  }
});

it('takes a message that says something, of a known mode, and nothing beside it', () => {
  const { input } = commands.send_message;
  expect(input.parse({ stageId, message: ' Go on\n' })).toEqual({ stageId, message: ' Go on\n' });
  expect(input.safeParse({ stageId, message: ' \n\t' }).success).toBe(false);
  expect(input.safeParse({ stageId, message: 'Go', mode: 'later' }).success).toBe(false);
  expect(input.safeParse({ stageId, message: 'Go', mod: 'now' }).success).toBe(false);
  expect(input.safeParse({ stageId: '../x', message: 'Go' }).success).toBe(false);
});

it('takes an approval that says allow or deny, and no misspelt field beside it', () => {
  const { input } = commands.approve_tool;
  const answer = { stageId, requestId: 'r', decision: 'allow', updatedInput: { command: 'ls' } };
  expect(input.parse(answer)).toEqual(answer);
  expect(input.safeParse({ ...answer, decision: 'maybe' }).success).toBe(false);
  expect(input.safeParse({ ...answer, updatedinput: {} }).success).toBe(false);
  expect(input.safeParse({ ...answer, updatedInput: 'ls' }).success).toBe(false);
});

it('takes a stage with title and prompt, and fills in nothing by itself', () => {
  const { input } = commands.create_stage;
  expect(input.parse({ projectId: 'shop', title: ' A ', prompt: 'Do it' })).toEqual({
    projectId: 'shop',
    title: 'A',
    prompt: 'Do it',
  });
  expect(input.safeParse({ projectId: 'shop', title: ' ', prompt: 'Do it' }).success).toBe(false);
  expect(input.safeParse({ projectId: 'shop', title: 'A', prompt: 'Do it', priority: 10 }).success).toBe(false);
});

it('tells a reply from an error by ok, and does not take the one for the other', () => {
  const ok = { type: 'reply', id: '1', ok: true, data: { stage: {} } };
  const error = { code: 'request_closed', message: 'Too late', decision: sampleDecision() };
  const failed = { type: 'reply', id: '1', ok: false, error };
  expect(ReplyFrame.parse(ok)).toEqual(ok);
  expect(ReplyFrame.parse(failed)).toEqual(failed);
  expect(ReplyFrame.safeParse({ ...failed, error: { ...error, code: 'odd' } }).success).toBe(false);
  expect(ReplyFrame.safeParse({ type: 'reply', id: '1', ok: false, data: {} }).success).toBe(false);
});
