import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRepository } from '../../../../test-support/git.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { putProgram, SYSTEM_PATH } from '../../test/programs.ts';
import { checkRepository } from './machine-checks.ts';

const env = { PATH: SYSTEM_PATH };

it('accepts a repository with a commit, from a folder within it', async () => {
  const repo = await createRepository(join(await temporaryFolder(), 'shop'), { 'src/main.js': '' });
  const finding = await checkRepository(join(repo, 'src'), env);
  expect(finding).toMatchObject({ verdict: 'ok', advice: null });
  expect(finding.found).toMatch(/\/shop, at [0-9a-f]+ First commit$/);
});

it('names the command for a folder outside any repository', async () => {
  const folder = join(await temporaryFolder(), 'my shop');
  await mkdir(folder);
  const finding = await checkRepository(folder, env);
  expect(finding).toMatchObject({ verdict: 'problem', found: `${folder} is not in a git repository` });
  expect(finding.advice).toContain(`git -C '${folder}' init`);
});

it('names the command for a repository without a commit', async () => {
  const repo = await createRepository(join(await temporaryFolder(), 'shop'), {});
  const finding = await checkRepository(repo, env);
  expect(finding).toMatchObject({ verdict: 'problem', found: expect.stringContaining('has no commit yet') });
  expect(finding.advice).toContain('commit -m "First commit"');
});

it('reports a missing folder, and a missing git', async () => {
  expect(await checkRepository('/nonexistent', env)).toMatchObject({ found: 'there is no folder /nonexistent' });
  const finding = await checkRepository('/', { PATH: '/nonexistent' });
  expect(finding).toMatchObject({ verdict: 'problem', found: expect.stringContaining('git was not found') });
});

it('warns about permissions that a new worktree does not get', async () => {
  const allow = ['Bash(npm run *)', 'Read(//etc/**)', 'WebSearch', 'WebFetch'];
  const settings = JSON.stringify({ permissions: { allow, deny: [] } });
  const repo = await createRepository(join(await temporaryFolder(), 'shop'), { '.claude/settings.json': settings });
  const finding = await checkRepository(repo, env);
  expect(finding.verdict).toBe('warning');
  expect(finding.found).toContain(
    'ignores what its .claude/settings.json allows (Bash(npm run *), Read(//etc/**), WebSearch, ...)',
  );
  expect(finding.advice).toContain('always');
});

it.each(['{ "permissions": { "allow": [] } }', '{}', 'not JSON'])(
  'does not warn about the settings %s',
  async (text) => {
    const repo = await createRepository(join(await temporaryFolder(), 'shop'), { '.claude/settings.json': text });
    expect(await checkRepository(repo, env)).toMatchObject({ verdict: 'ok' });
  },
);

it('reads the committed settings, which a worktree gets', async () => {
  const repo = await createRepository(join(await temporaryFolder(), 'shop'), { '.claude/settings.json': '{}' });
  await writeFile(join(repo, '.claude', 'settings.json'), '{"permissions":{"allow":["WebSearch"]}}');
  expect(await checkRepository(repo, env)).toMatchObject({ verdict: 'ok' });
});

it.each([
  ["fatal: detected dubious ownership in repository at '/x'", 'belongs to another account', 'safe.directory'],
  ['fatal: something else', 'git says "fatal: something else"', 'status'],
])('passes on what git complains of: %s', async (says, found, advice) => {
  const folder = await temporaryFolder();
  await putProgram(folder, 'git', `echo "${says}" >&2; exit 128`);
  const finding = await checkRepository('/x', { PATH: folder });
  expect(finding).toMatchObject({ verdict: 'problem', found: expect.stringContaining(found) });
  expect(finding.advice).toContain(advice);
});
