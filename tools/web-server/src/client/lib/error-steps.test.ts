import { TransportError } from '@callboard/contract/client';
import { expect, it } from 'vitest';
import { describeError } from './error-steps.ts';

const refusal = (code: TransportError['code'], text: string) => describeError(new TransportError(409, code, text));

it('tells the cause first, folds what git said, and names one step', () => {
  const text = 'The worktree was not created. The disk is full. Free some space, then try again.';
  expect(refusal('worktree_failed', `${text}\nfatal: No space left on device`)).toEqual({
    text,
    details: 'fatal: No space left on device',
    step: 'try-again',
  });
  expect(refusal('branch_taken', 'Taken.')).toMatchObject({ text: 'Taken.', step: 'edit-stage' });
});

it('replaces words that were meant for programs', () => {
  expect(refusal('unsupported_media_type', 'The body is not JSON.').text).toContain('older than Callboard');
});

it('names no step for an error of the page itself', () => {
  expect(describeError(new Error('Odd.'))).toEqual({ text: 'Odd.', details: null, step: null });
});
