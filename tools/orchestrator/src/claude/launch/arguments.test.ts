import { expect, it } from 'vitest';
import { claudeArguments, missingFlags, refusedMode } from './arguments.ts';

const launch = {
  ...{ dataDir: '/data', permissionMode: 'default', model: null, effort: 'low', allow: [], directories: [] },
  hosts: [],
  sessionMessages: false,
  ask: [],
  deny: [],
  sandbox: null,
  userSettingsOnly: null,
  conversation: { start: 'c' },
};

it('omits an optional flag that the program does not know, and names what is missing', () => {
  const flags = new Set(['--allowed-tools', '--debug', '--effort', '--include-partial-messages']);
  expect(missingFlags(flags)).toEqual(['subagent text is not shown']);
  expect(claudeArguments({ ...launch, flags })).not.toContain('--forward-subagent-text');
  expect(claudeArguments({ ...launch, flags })).toContain('--include-partial-messages');
  expect(claudeArguments({ ...launch, flags: new Set(['--print']) })).not.toContain('--effort');
});

it('passes all flags to a program whose flags are unknown', () => {
  const args = claudeArguments({ ...launch, flags: null });
  expect(args).toEqual(expect.arrayContaining(['--forward-subagent-text', '--include-partial-messages', '--effort']));
  expect(missingFlags(null)).toEqual([]);
});

it('refuses to let root skip permissions outside of a sandbox', () => {
  expect(refusedMode('bypassPermissions', { uid: 0, env: {} })).toContain('root/sudo');
  expect(refusedMode('bypassPermissions', { uid: 0, env: { IS_SANDBOX: '1' } })).toBeNull();
  expect(refusedMode('bypassPermissions', { uid: 1000, env: {} })).toBeNull();
  expect(refusedMode('bypassPermissions', { uid: undefined, env: {} })).toBeNull();
  expect(refusedMode('plan', { uid: 0, env: {} })).toBeNull();
});
