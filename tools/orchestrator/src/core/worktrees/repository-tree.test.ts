import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRepository, git } from '../../../../../test-support/git.ts';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { write } from '../../../test/support/settings-files.ts';
import { runGit } from '../../platform/git/run-git.ts';
import { folderTree, headTree } from './repository-tree.ts';

it('reads the same from a checkout and its commit, follows links, and reads nothing outside', async () => {
  const repo = await createRepository(join(await temporaryFolder(), 'shop'));
  await write(repo, {
    '.claude/settings.json': '{}\r\n',
    'shared/skills/tidy/SKILL.md': 'Tidy',
    'shared/agents/a.md': 'A',
    '.claude/commands/deep/one.md': 'One',
  });
  await symlink('../shared/skills', join(repo, '.claude/skills'));
  await mkdir(join(repo, '.claude/agents'));
  await symlink('../../shared/agents/a.md', join(repo, '.claude/agents/linked.md'));
  await symlink('circle', join(repo, '.claude/circle'));
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Settings');
  const env = { PATH: process.env.PATH ?? '', HOME: repo };
  for (const tree of [folderTree(repo), headTree((args) => runGit(repo, args, env))]) {
    expect(await tree.read('.claude/settings.json')).toBe('{}');
    expect(await tree.list('.claude/skills')).toEqual(['.claude/skills/tidy/SKILL.md']);
    expect(await tree.read('.claude/skills/tidy/SKILL.md')).toBe('Tidy');
    expect(await tree.list('.claude/agents')).toEqual(['.claude/agents/linked.md']);
    expect(await tree.read('.claude/agents/linked.md')).toBe('A');
    expect(await tree.list('.claude/commands')).toEqual(['.claude/commands/deep/one.md']);
    expect(await tree.read('.claude/circle')).toBeNull();
    expect(await tree.read('.mcp.json')).toBeNull();
    expect(await tree.list('.claude/hooks')).toBeNull();
    expect(await tree.read('.claude')).toBeNull();
  }
});
