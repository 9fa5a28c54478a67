import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dieOnceAtCheckoutOf } from '../../../test/support/git-that-dies.ts';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

async function setUp() {
  const lab = await createGitLab();
  const repository = await lab.repository('shop');
  const dataDir = join(lab.folder, 'data');
  const project = sampleProject({ path: repository });
  const worktrees = createWorktrees({ dataDir, env: lab.env });
  const left = (path = repository) =>
    worktrees.findAbandonedWorktrees({ repository: path, projectId: project.id, stageId: STAGE });
  return { ...lab, lab, repository, project, worktrees, left, folder: join(dataDir, 'worktrees', project.id) };
}

it('finds what a start made, also under a name with a number, and nothing of other stages and other people', async () => {
  const { git, repository, project, worktrees, left, folder } = await setUp();
  expect(await left()).toEqual([]);
  await mkdir(join(folder, 'STAGE-1'), { recursive: true });
  await writeFile(join(folder, 'STAGE-1', 'mine.txt'), 'mine');
  const made = await worktrees.ensure(project, STAGE, null);
  await worktrees.ensure(project, stageId('STAGE-10'), null);
  await git(repository, 'worktree', 'add', '--quiet', '-b', 'other', join(folder, 'STAGE-1-old'));
  expect(made.path).toBe(join(folder, 'STAGE-1-2'));
  expect(await left()).toEqual([made]);
  await rm(made.path, { recursive: true }); // git still lists it
  expect(await left()).toEqual([]);
});

it('removes one whose creation was killed', async () => {
  const { git, lab, repository, project, worktrees, left, folder } = await setUp();
  await writeFile(join(repository, 'file.txt'), 'text\n');
  await git(repository, 'add', '--all');
  await git(repository, 'commit', '--quiet', '-m', 'File');
  await dieOnceAtCheckoutOf(lab, repository, 'file.txt');
  await expect(worktrees.ensure(project, STAGE, null)).rejects.toMatchObject({ code: 'worktree_failed' });
  const path = join(folder, 'STAGE-1');
  expect(await git(repository, 'worktree', 'list')).toContain(path);
  expect(await left()).toEqual([]);
  expect(await git(repository, 'worktree', 'list')).not.toContain(path);
  expect(existsSync(path)).toBe(false);
});

it('finds nothing in a repository that is gone', async () => {
  const { repository, project, worktrees, left } = await setUp();
  await worktrees.ensure(project, STAGE, null);
  await rm(repository, { recursive: true });
  expect(await left()).toEqual([]);
});
