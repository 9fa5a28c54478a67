import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import type { RemovalOrder, SavedCommits } from './remove-worktree.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, STAGE, null);
  const inside = (...args: string[]) => lab.git(worktree.path, ...args);
  const head = () => inside('rev-parse', 'HEAD');
  const kept: SavedCommits[] = [];
  const order: RemovalOrder = {
    buildFolders: 'keep',
    stageId: STAGE,
    mayBegin: async () => undefined,
    async save(_files, commits) {
      if (commits !== null) kept.push(commits);
      return null;
    },
  };
  return {
    ...lab,
    path,
    worktrees,
    project,
    worktree,
    inside,
    head,
    kept,
    plan: () => worktrees.planRemoval(project, worktree, STAGE),
    remove: () => worktrees.remove(project, worktree, order),
    /** Whether git still has a commit after it has removed everything that nothing points at. */
    async survives(commit: string) {
      await lab.git(path, '-c', 'gc.reflogExpire=now', 'gc', '--quiet', '--prune=now');
      return lab.git(path, 'cat-file', '-t', commit).catch(() => 'gone');
    },
  };
}

it('names and keeps commits on a detached HEAD when the worktree is removed', async () => {
  const { worktree, inside, commit, head, plan, remove, kept, survives } = await setUp();
  await inside('checkout', '--quiet', '--detach');
  await commit(worktree.path, 'a.txt', 'a\n');
  await commit(worktree.path, 'b.txt', 'b\n');
  const last = await head();
  expect((await plan()).loose).toMatchObject({ branch: null, commits: 2, earlier: 0, branches: [] });
  expect(await remove()).toMatchObject({ left: null });
  expect(kept).toMatchObject([{ branch: null, unmerged: 2, earlier: 0 }]);
  expect(await survives(last)).toBe('commit');
});

it('keeps what was amended, reset and put aside by a rebase that is half done', async () => {
  const { worktree, path, inside, git, commit, head, plan, remove, kept, survives } = await setUp();
  await commit(worktree.path, 'a.txt', 'one\n');
  const first = await head();
  await inside('commit', '--quiet', '--amend', '-m', 'Better');
  await commit(worktree.path, 'b.txt', 'b\n');
  const second = await head();
  await inside('reset', '--quiet', '--hard', 'HEAD^');
  await commit(path, 'a.txt', 'other\n');
  await writeFile(join(worktree.path, 'README.md'), '# Open\n');
  await expect(inside('rebase', '--autostash', 'main')).rejects.toThrow();
  expect((await plan()).left).toContain('uncommitted');
  await inside('reset', '--quiet', '--hard');
  expect((await plan()).loose).toMatchObject({ operation: 'rebase', branch: null });
  await remove();
  expect(kept).toHaveLength(1);
  expect([await survives(first), await survives(second)]).toEqual(['commit', 'commit']);
  const held = await git(path, 'log', '--all', '--format=%s');
  expect(held).toContain('autostash');
});

it('names another branch that the worktree is on, and the stash, and leaves both', async () => {
  const { worktree, path, inside, git, commit, plan, remove, kept } = await setUp();
  await inside('switch', '--quiet', '-c', 'other');
  await commit(worktree.path, 'a.txt', 'a\n');
  await writeFile(join(worktree.path, 'README.md'), '# Stashed\n');
  await inside('stash', 'push', '--quiet', '-m', 'for later');
  expect((await plan()).loose).toEqual({
    branch: 'other',
    commits: 0,
    earlier: 0,
    operation: null,
    branches: [{ name: 'other', commits: 1 }],
    stashes: ['On other: for later'],
  });
  await remove();
  expect(kept).toEqual([]);
  expect(await git(path, 'branch', '--list', 'other')).toContain('other');
  expect(await git(path, 'stash', 'list')).toContain('for later');
});

it('names nothing of a stage that worked on its branch and was merged or squashed', async () => {
  const { worktree, worktrees, project, commit, plan, remove, kept } = await setUp();
  await commit(worktree.path, 'a.txt', 'a\n');
  const merged = await worktrees.merge(project, worktree, { method: 'squash', message: 'All' });
  if (merged === null) throw new Error('nothing was merged');
  worktree.merges = [{ ...merged, at: new Date().toISOString() }];
  expect(await plan()).toMatchObject({ loose: null, branch: { isKept: false } });
  await remove();
  expect(kept).toEqual([]);
});

it('keeps the commits of a worktree whose folder is gone and whose entry was pruned', async () => {
  const { worktree, worktrees, project, path, inside, git, commit, head, remove, kept, survives } = await setUp();
  await inside('checkout', '--quiet', '--detach');
  await commit(worktree.path, 'a.txt', 'a\n');
  const last = await head();
  await worktrees.snapshotTurn(worktree, { stageId: STAGE, name: 'one' });
  await git(path, 'worktree', 'remove', '--force', worktree.path);
  await remove();
  await worktrees.dropTurns(project, STAGE);
  expect(kept).toMatchObject([{ earlier: 1 }]);
  expect(await survives(last)).toBe('commit');
});
