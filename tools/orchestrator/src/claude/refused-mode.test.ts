import { expect, it } from 'vitest';
import { refusedMode } from './refused-mode.ts';

it('knows that root cannot run without questions, but in a sandbox', () => {
  expect(refusedMode('bypassPermissions', { uid: 0, env: {} })).toContain('root/sudo');
  expect(refusedMode('bypassPermissions', { uid: 0, env: { IS_SANDBOX: '1' } })).toBeNull();
  expect(refusedMode('bypassPermissions', { uid: 1000, env: {} })).toBeNull();
  expect(refusedMode('bypassPermissions', { uid: undefined, env: {} })).toBeNull();
  expect(refusedMode('plan', { uid: 0, env: {} })).toBeNull();
});
