import { describe, expect, it } from 'vitest';
import { isSameAnswer } from './incoming-requests.ts';

const INPUT = { command: 'make' };
const success = (response: Record<string, unknown>, more = {}) => ({ subtype: 'success', response, ...more });
const same = (ours: Record<string, unknown>, echoed: Record<string, unknown>) => isSameAnswer(ours, echoed, INPUT);

describe('the echo of an answer', () => {
  it.each([
    ['is equal', success({ behavior: 'allow' }), success({ behavior: 'allow' })],
    ['has a key that is not known yet', success({ behavior: 'allow' }), success({ behavior: 'allow', auditId: 'a1' })],
    ['has such a key beside the response', success({ behavior: 'allow' }), success({ behavior: 'allow' }, { took: 3 })],
    ['has the unchanged input', success({ behavior: 'allow' }), success({ behavior: 'allow', updatedInput: INPUT })],
    [
      'has keys without effect',
      success({ behavior: 'deny', message: 'No' }),
      success({ behavior: 'deny', message: 'No', interrupt: false, updatedPermissions: [], updatedInput: null }),
    ],
    [
      'answers a form',
      success({ action: 'accept', content: { name: 'x' } }),
      success({ action: 'accept', content: { name: 'x' }, at: 1 }),
    ],
    ['refuses', { subtype: 'error', error: 'no' }, { subtype: 'error', error: 'no', error_code: 'x' }],
  ])('has the same effect if it %s', (_what, ours, echoed) => {
    expect(same(ours, echoed)).toBe(true);
  });

  it.each([
    ['allows', success({ behavior: 'deny', message: 'No' }), success({ behavior: 'allow' })],
    [
      'has another input',
      success({ behavior: 'allow' }),
      success({ behavior: 'allow', updatedInput: { command: 'rm' } }),
    ],
    [
      'sets a mode',
      success({ behavior: 'allow' }),
      success({ behavior: 'allow', updatedPermissions: [{ type: 'setMode', mode: 'acceptEdits' }] }),
    ],
    ['has no message', success({ behavior: 'deny', message: 'No' }), success({ behavior: 'deny' })],
    [
      'interrupts',
      success({ behavior: 'deny', message: 'No' }),
      success({ behavior: 'deny', message: 'No', interrupt: true }),
    ],
    [
      'has another content',
      success({ action: 'accept', content: { name: 'x' } }),
      success({ action: 'accept', content: { name: 'y' } }),
    ],
    ['refuses', success({ behavior: 'allow' }), { subtype: 'error', error: 'no' }],
  ])('has another effect if it %s', (_what, ours, echoed) => {
    expect(same(ours, echoed)).toBe(false);
  });
});
