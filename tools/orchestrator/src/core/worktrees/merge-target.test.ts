import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  await lab.commit(worktree.path, 'feature.txt', 'new');
  return { ...lab, path, worktrees, project, worktree };
}

it('merges into a branch that has a tag of its name, and takes that back', async () => {
  const { git, path, worktrees, project, worktree } = await setUp();
  const before = await git(path, 'rev-parse', 'HEAD');
  await git(path, 'tag', 'main');
  const merged = await worktrees.merge(project, worktree);
  expect(merged).toMatchObject({ into: 'main', previous: before, commit: await git(path, 'rev-parse', 'HEAD') });
  if (merged === null) return;
  const merge = { ...merged, at: '2026-01-02T03:04:05.000Z' };
  expect(await worktrees.undoRefusal(project, merge)).toBeNull();
  await worktrees.undoMerge(project, merge, {});
  expect(await git(path, 'rev-parse', 'HEAD')).toBe(before);
});

it('refuses to merge where the main checkout is on no branch', async () => {
  const { git, path, worktrees, project, worktree } = await setUp();
  await git(path, 'checkout', '--quiet', '--detach');
  await expect(worktrees.merge(project, worktree)).rejects.toMatchObject({ code: 'merge_refused' });
});
