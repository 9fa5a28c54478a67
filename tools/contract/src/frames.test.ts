import { expect, it } from 'vitest';
import { sampleDecision } from '../test/samples.ts';
import { type CommandType, commands } from './commands.ts';
import { CommandFrame, ReplyFrame } from './frames.ts';

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

it('tells a reply from an error by ok, and does not take the one for the other', () => {
  const ok = { type: 'reply', id: '1', ok: true, data: { stage: {} } };
  const error = { code: 'request_closed', message: 'Too late', decision: sampleDecision() };
  const failed = { type: 'reply', id: '1', ok: false, error };
  expect(ReplyFrame.parse(ok)).toEqual(ok);
  expect(ReplyFrame.parse(failed)).toEqual(failed);
  expect(ReplyFrame.safeParse({ ...failed, error: { ...error, code: 'odd' } }).success).toBe(false);
  expect(ReplyFrame.safeParse({ type: 'reply', id: '1', ok: false, data: {} }).success).toBe(false);
});
