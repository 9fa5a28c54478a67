import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { mayUserHooksAllow } from './launch-options.ts';

it.each<[string, boolean]>([
  ['{}', false],
  ['{"hooks":{"Stop":[]},"enabledPlugins":{"a@b":false}}', false],
  ['{"hooks":{"PreToolUse":[]}}', true],
  ['{"hooks":{"PermissionRequest":[]}}', true],
  ['{"enabledPlugins":{"a@b":true}}', true],
  ['not JSON', true],
])('decides for %s whether a hook in it may allow tools', async (text, may) => {
  const home = await temporaryFolder();
  await mkdir(join(home, '.claude'));
  await writeFile(join(home, '.claude', 'settings.json'), text);
  expect(await mayUserHooksAllow({ HOME: home })).toBe(may);
  expect(await mayUserHooksAllow({ HOME: '/nowhere', CLAUDE_CONFIG_DIR: join(home, '.claude') })).toBe(may);
});

it('returns false when the user has no settings', async () => {
  expect(await mayUserHooksAllow({ HOME: await temporaryFolder() })).toBe(false);
});
