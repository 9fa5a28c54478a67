import { expect, it } from 'vitest';
import { modeLabel, modeOptionsOf } from './stage-options.ts';

const values = (...args: Parameters<typeof modeOptionsOf>) => modeOptionsOf(...args).map(({ value }) => value);

it('offers a running session the bypass mode only if it was started with it', () => {
  expect(values(true, 'default', 'plan')).not.toContain('bypassPermissions');
  expect(values(true, 'default', 'bypassPermissions')).toContain('bypassPermissions');
  expect(values(false, 'default')).toContain('bypassPermissions');
  expect(values(true, 'default')).toContain('acceptEdits');
});

it('shows an unknown mode by its name', () => {
  expect(modeLabel('new-mode')).toBe('new-mode');
});
