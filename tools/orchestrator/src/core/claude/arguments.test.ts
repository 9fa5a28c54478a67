import { expect, it } from 'vitest';
import { claudeArguments, missingFlags, ownFilesDenied, refusedMode } from './launch-options.ts';

const launch = {
  dataDir: '/data',
  env: { HOME: '/home/ada' },
  permissionMode: 'default',
  model: null,
  effort: 'low',
  allow: [],
  directories: [],
  hosts: [],
  sessionMessages: false,
  ask: [],
  deny: [],
  sandbox: null,
  userSettingsOnly: null,
  conversation: { start: 'c' },
};

it('omits an optional flag that the program does not know, and names what is missing', () => {
  const flags = new Set([
    '--allowed-tools',
    '--debug',
    '--effort',
    '--include-partial-messages',
    '--include-hook-events',
  ]);
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

it('denies Claude the files of Callboard, and the folders of terminal logins', () => {
  const denied = (env: Record<string, string>) => ownFilesDenied({ dataDir: '/data', env });
  expect(denied({ HOME: '/home/ada' })).toEqual(
    expect.arrayContaining([
      'Read(//data/store*)',
      'Read(//data/database-url*)',
      'Read(//home/ada/.config/callboard/**)',
    ]),
  );
  const elsewhere = denied({ HOME: '/home/ada', XDG_CONFIG_HOME: '/conf' });
  for (const folder of ['/home/ada/.config', '/conf'])
    expect(elsewhere).toEqual(
      expect.arrayContaining([`Read(/${folder}/callboard/**)`, `Edit(/${folder}/callboard/**)`]),
    );
});

it('refuses to let root skip permissions outside of a sandbox', () => {
  expect(refusedMode('bypassPermissions', { uid: 0, env: {} })).toContain('root/sudo');
  expect(refusedMode('bypassPermissions', { uid: 0, env: { IS_SANDBOX: '1' } })).toBeNull();
  expect(refusedMode('bypassPermissions', { uid: 1000, env: {} })).toBeNull();
  expect(refusedMode('bypassPermissions', { uid: undefined, env: {} })).toBeNull();
  expect(refusedMode('plan', { uid: 0, env: {} })).toBeNull();
});
