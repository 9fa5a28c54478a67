import { expect, it } from 'vitest';
import { translateResult } from './translate-messages.ts';
import { ResultMessage } from './wire.ts';

const end = (fields: object) =>
  translateResult(ResultMessage.parse({ is_error: false, subtype: 'success', ...fields }));

it.each([
  ['a good turn', { result: 'Done.', terminal_reason: 'completed' }, 'succeeded', null],
  ['a slash command', { num_turns: 0 }, 'succeeded', null],
  [
    'a turn cut by a message that could not wait',
    { result: '', terminal_reason: 'aborted_tools' },
    'interrupted',
    null,
  ],
  [
    'an interrupt while the model wrote',
    { subtype: 'error_during_execution', is_error: true, terminal_reason: 'aborted_streaming', errors: ['[ede] x'] },
    'interrupted',
    null,
  ],
  [
    'an API failure, which calls itself a success',
    { is_error: true, terminal_reason: 'api_error', result: 'API Error: 400' },
    'failed',
    'API Error: 400',
  ],
  [
    'a machine without a login',
    { is_error: true, terminal_reason: 'api_error', result: 'Not logged in · Please run /login' },
    'failed',
    'Claude is not logged in on this machine.',
  ],
  [
    'a conversation that is not there',
    { subtype: 'error_during_execution', is_error: true, errors: ['No conversation found', 'id'] },
    'failed',
    'No conversation found\nid',
  ],
  [
    'too many steps',
    { subtype: 'error_max_turns', is_error: true, terminal_reason: 'max_turns' },
    'failed',
    expect.stringContaining('limit of steps'),
  ],
  [
    'a budget that is used up',
    { subtype: 'error_max_budget_usd', is_error: true, terminal_reason: 'budget_exhausted' },
    'failed',
    expect.stringContaining('budget'),
  ],
  ['an error without a word', { subtype: 'error_new', is_error: true }, 'failed', expect.stringContaining('no reason')],
])('tells how %s ended', (_what, fields, outcome, message) => {
  expect(end(fields)).toMatchObject({ outcome, message });
});

it('takes over what the CLI counted, as far as it did', () => {
  expect(end({ duration_ms: 314, total_cost_usd: 0.00088 })).toMatchObject({ durationMs: 314, costUsd: 0.00088 });
  expect(end({})).toMatchObject({ durationMs: null, costUsd: null });
});

it.each(['result', 'terminal_reason', 'duration_ms', 'total_cost_usd', 'errors'])(
  'ends the turn although %s is not what it should be: a turn that never ends would hold everything up',
  (field) => {
    const odd = { odd: true };
    expect(end({ [field]: odd })).toMatchObject({ outcome: 'succeeded' });
    expect(end({ [field]: null })).toMatchObject({ outcome: 'succeeded' });
  },
);
