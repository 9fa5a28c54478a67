import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const first = await lab.git(path, 'rev-parse', 'HEAD');
  await lab.git(path, 'branch', 'develop');
  await lab.commit(path, 'later.txt', 'later\n');
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const ask = (base: string | null, branch: string | null) => worktrees.requireStartPoint(project, { base, branch });
  return { ...lab, path, first, worktrees, project, ask };
}

it.each(['develop', 'main', 'HEAD~1', 'refs/heads/develop'])('begins at %s', async (base) => {
  const { ask, worktrees, project, git, path } = await setUp();
  await ask(base, null);
  const worktree = await worktrees.ensure(project, STAGE, null, { start: { base, branch: null } });
  expect(worktree).toMatchObject({ branch: 'callboard/STAGE-1', base: await git(path, 'rev-parse', base) });
  expect(await git(worktree.path, 'rev-parse', 'HEAD')).toBe(worktree.base);
});

it('refuses a base that does not exist, and never takes it for an option', async () => {
  const { ask } = await setUp();
  for (const base of ['nowhere', '--all', '-h', '^main', 'main:README.md', '1'.repeat(40)])
    await expect(ask(base, null), base).rejects.toMatchObject({ code: 'unknown_base' });
});

it('names the branch as wanted, if git accepts the name and there is room for it', async () => {
  const { ask, worktrees, project, git } = await setUp();
  const start = { base: 'develop', branch: 'feature/login-form' };
  await ask(start.base, start.branch);
  const worktree = await worktrees.ensure(project, STAGE, null, { start });
  expect(worktree.branch).toBe('feature/login-form');
  expect(await git(worktree.path, 'branch', '--show-current')).toBe('feature/login-form');
  for (const name of ['a b', 'a..b', '-x', 'x.lock', 'a@{1}', '@', 'HEAD', '/a', 'a/'])
    await expect(ask(null, name), name).rejects.toMatchObject({ code: 'bad_branch' });
  for (const name of ['main', 'feature/login-form', 'feature', 'main/x'])
    await expect(ask(null, name), name).rejects.toMatchObject({ code: 'branch_taken' });
});

it('keeps base and branch when the worktree is made again', async () => {
  const { worktrees, project, git, path } = await setUp();
  const start = { base: 'develop', branch: 'feature/x' };
  const first = await worktrees.ensure(project, STAGE, null, { start });
  await git(path, 'worktree', 'remove', first.path);
  await git(path, 'branch', '--move', 'develop', 'old-develop');
  expect(await worktrees.ensure(project, STAGE, { ...first, isCleanedUp: true }, { start })).toEqual(first);
});

it('says at the start that the base is gone, or the branch taken by now, and what to do', async () => {
  const { worktrees, project, git, path, first, commit } = await setUp();
  const ensure = (base: string | null, branch: string | null) =>
    worktrees.ensure(project, STAGE, null, { start: { base, branch } });
  await expect(ensure('gone', null)).rejects.toMatchObject({
    code: 'worktree_failed',
    message: expect.stringContaining('choose another base'),
  });
  await git(path, 'switch', '--quiet', '-c', 'feature/x', first);
  await commit(path, 'own.txt', 'own\n');
  await git(path, 'switch', '--quiet', 'main');
  await expect(ensure(null, 'feature/x')).rejects.toMatchObject({
    code: 'worktree_failed',
    message: expect.stringContaining('choose another name'),
  });
});

it('lists the branches, the newest commit first', async () => {
  const { worktrees, project, git, path } = await setUp();
  expect(await worktrees.branches(project)).toMatchObject({ current: 'main' });
  expect((await worktrees.branches(project)).branches.toSorted()).toEqual(['develop', 'main']);
  await git(path, 'switch', '--quiet', '--detach');
  expect(await worktrees.branches(project)).toMatchObject({ current: null });
});
