import { describe, expect, it } from 'vitest';
import { isSameAnswer } from './same-answer.ts';

const INPUT = { command: 'make' };
const success = (response: Record<string, unknown>, more = {}) => ({ subtype: 'success', response, ...more });
const same = (ours: Record<string, unknown>, echoed: Record<string, unknown>) => isSameAnswer(ours, echoed, INPUT);

describe('the echo of an answer', () => {
  it.each([
    ['equal', success({ behavior: 'allow' }), success({ behavior: 'allow' })],
    ['with a key of tomorrow', success({ behavior: 'allow' }), success({ behavior: 'allow', auditId: 'a1' })],
    ['with one beside the response', success({ behavior: 'allow' }), success({ behavior: 'allow' }, { took: 3 })],
    ['with the input as it was', success({ behavior: 'allow' }), success({ behavior: 'allow', updatedInput: INPUT })],
    [
      'with what says nothing',
      success({ behavior: 'deny', message: 'No' }),
      success({ behavior: 'deny', message: 'No', interrupt: false, updatedPermissions: [], updatedInput: null }),
    ],
    [
      'of a form',
      success({ action: 'accept', content: { name: 'x' } }),
      success({ action: 'accept', content: { name: 'x' }, at: 1 }),
    ],
    ['of a refusal', { subtype: 'error', error: 'no' }, { subtype: 'error', error: 'no', error_code: 'x' }],
  ])('is the same %s', (_what, ours, echoed) => {
    expect(same(ours, echoed)).toBe(true);
  });

  it.each([
    ['allowed', success({ behavior: 'deny', message: 'No' }), success({ behavior: 'allow' })],
    ['another input', success({ behavior: 'allow' }), success({ behavior: 'allow', updatedInput: { command: 'rm' } })],
    [
      'a rule',
      success({ behavior: 'allow' }),
      success({ behavior: 'allow', updatedPermissions: [{ type: 'setMode', mode: 'acceptEdits' }] }),
    ],
    ['no message', success({ behavior: 'deny', message: 'No' }), success({ behavior: 'deny' })],
    [
      'an interrupt',
      success({ behavior: 'deny', message: 'No' }),
      success({ behavior: 'deny', message: 'No', interrupt: true }),
    ],
    [
      'another content',
      success({ action: 'accept', content: { name: 'x' } }),
      success({ action: 'accept', content: { name: 'y' } }),
    ],
    ['a refusal', success({ behavior: 'allow' }), { subtype: 'error', error: 'no' }],
  ])('is another one with %s', (_what, ours, echoed) => {
    expect(same(ours, echoed)).toBe(false);
  });
});
