import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { allowRulesOf, hooksOf } from './repository-settings.ts';

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const settingsWith = (event: string, command: string, matcher?: string) =>
  JSON.stringify({ hooks: { [event]: [{ matcher, hooks: [{ type: 'command', command }] }] } });
const shared = join('.claude', 'settings.json');
const local = join('.claude', 'settings.local.json');

it('lists the hooks of the worktree, and of the main checkout those that hold everywhere', async () => {
  const repository = await folderWith({
    [shared]: settingsWith('Stop', 'not committed, so not in the worktree'),
    [local]: settingsWith('PostToolUse', 'format', 'Edit'),
  });
  const worktree = await folderWith({
    [shared]: settingsWith('PreToolUse', 'check', '*'),
    [local]: settingsWith('Stop', 'tell', ''),
  });
  expect(await hooksOf(repository, worktree)).toEqual([
    { event: 'PreToolUse', matcher: null, command: 'check', file: shared },
    { event: 'Stop', matcher: null, command: 'tell', file: local },
    { event: 'PostToolUse', matcher: 'Edit', command: 'format', file: local },
  ]);
  expect((await hooksOf(repository, null)).map(({ command }) => command)).toEqual([
    'not committed, so not in the worktree',
    'format',
  ]);
});

it('finds none where there are no settings, or none with hooks', async () => {
  expect(await hooksOf(await folderWith({}), await folderWith({ '.claude': 'a file' }))).toEqual([]);
  expect(await hooksOf(await folderWith({ [shared]: '{"permissions":{"allow":["Read"]}}' }), null)).toEqual([]);
});

it.each(['not JSON', '[]', '{"hooks":[]}', '{"hooks":{"Stop":[{"hooks":"?"}]}}'])(
  'takes a file that it does not understand for one with a hook: %s',
  async (text) => {
    const hooks = await hooksOf(await folderWith({ [shared]: text }), null);
    expect(hooks).toMatchObject([{ event: 'unknown', file: shared }]);
  },
);

it('shows a hook that is no command as it stands', async () => {
  const text = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'prompt', prompt: 'Are you done?' }] }] } });
  const [hook] = await hooksOf(await folderWith({ [shared]: text }), null);
  expect(hook?.command).toContain('Are you done?');
});

it('reads the allow rules of the committed settings alone', async () => {
  const rules = (rule: string) => JSON.stringify({ permissions: { allow: [rule] } });
  expect(await allowRulesOf(await folderWith({ [shared]: rules('A'), [local]: rules('B') }))).toEqual(['A']);
  expect(await allowRulesOf(await folderWith({ [shared]: 'not JSON' }))).toEqual([]);
});
