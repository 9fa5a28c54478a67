import { expect, it } from 'vitest';
import { errorDeps } from './error-steps.ts';

it('splits what happened from the details below it', () => {
  expect(errorDeps(new Error('The disk is full.\nfatal: a\nfatal: b\n'))).toEqual({
    text: 'The disk is full.',
    details: 'fatal: a\nfatal: b',
  });
  expect(errorDeps('Nothing more.')).toEqual({ text: 'Nothing more.', details: null });
});
