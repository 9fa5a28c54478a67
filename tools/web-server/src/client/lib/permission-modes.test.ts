import { expect, it } from 'vitest';
import { modeOptionsOf, modeWords } from './permission-modes.ts';

const values = (...args: Parameters<typeof modeOptionsOf>) => modeOptionsOf(...args).map(({ value }) => value);

it('does not offer a running session the one mode that it refuses, unless it was started with it', () => {
  expect(values(true, 'default', 'plan')).not.toContain('bypassPermissions');
  expect(values(true, 'default', 'bypassPermissions')).toContain('bypassPermissions');
  expect(values(false, 'default')).toContain('bypassPermissions');
  expect(values(true, 'default')).toContain('acceptEdits');
});

it('leaves a mode that it does not know as it is named', () => {
  expect(modeWords('new-mode')).toBe('new-mode');
});
