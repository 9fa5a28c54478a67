import { expect, it } from 'vitest';
import { realReason } from './approval-body.tsx';

it.each([
  'This command requires approval',
  "Claude requested permissions to write to /a, but you haven't granted it yet.",
  'No rule allows it.',
  ' ',
])('leaves out a reason that says nothing: %s', (reason) => {
  expect(realReason(reason)).toBeNull();
});

it('keeps a real one, as a sentence', () => {
  expect(realReason('a hook asks: the file is generated')).toBe('A hook asks: the file is generated.');
  expect(realReason(null)).toBeNull();
});
