import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const NAMES = ['.bashrc', '.claude/hooks', '.mcp.json'];

/** A branch on which placeholders were committed beside work; the sandbox has ended, so they are gone from the worktree. */
async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const project = sampleProject({ path });
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  const at = (name: string) => join(worktree.path, name);
  await mkdir(at('.claude'));
  for (const name of NAMES) {
    await writeFile(at(name), '');
    await chmod(at(name), 0o444);
  }
  await writeFile(at('work.txt'), 'work\n');
  await writeFile(at('.profile'), 'the project has one\n');
  await lab.git(worktree.path, 'add', '--all');
  await lab.git(worktree.path, 'commit', '--quiet', '-m', 'Work');
  for (const name of NAMES) await rm(at(name));
  const files = async (commit: string) =>
    (await lab.git(worktree.path, 'ls-tree', '-r', '--name-only', commit)).trim().split('\n');
  return { lab, project, worktrees, worktree, at, files };
}

it('names the placeholders of a branch, and merges none of them', async () => {
  const { project, worktrees, worktree, lab, at } = await setUp();
  const idea = { method: 'merge', title: 'T' } as const;
  expect(await worktrees.planMerge(project, worktree, idea)).toMatchObject({ placeholders: NAMES, refusal: null });
  const refusal = expect.stringMatching(/^3 files of the branch are only placeholders .*\.bashrc.*Take them out/);
  await expect(worktrees.merge(project, worktree)).rejects.toMatchObject({ code: 'merge_refused', message: refusal });
  await lab.git(worktree.path, 'checkout', '--', '.');
  expect(await worktrees.planMerge(project, worktree, idea)).toMatchObject({ placeholders: NAMES, refusal });
  await chmod(at('.bashrc'), 0o644);
  await writeFile(at('.bashrc'), 'now it is a file\n');
  await lab.git(worktree.path, 'commit', '--quiet', '--all', '-m', 'A file of that name');
  expect((await worktrees.planMerge(project, worktree, idea)).placeholders).toEqual(NAMES.slice(1));
});

it('takes them out with a commit that changes nothing else, staged work included', async () => {
  const { project, worktrees, worktree, lab, at, files } = await setUp();
  await writeFile(at('staged.txt'), 'staged\n');
  await lab.git(worktree.path, 'add', 'staged.txt');
  expect(await worktrees.takeOutPlaceholders(project, worktree)).toEqual(NAMES);
  expect(await files('HEAD')).toEqual(['.profile', 'README.md', 'work.txt']);
  expect((await lab.git(worktree.path, 'status', '--porcelain')).trim()).toBe('A  staged.txt');
  expect(await worktrees.takeOutPlaceholders(project, worktree)).toEqual([]);
  await lab.git(worktree.path, 'commit', '--quiet', '-m', 'Staged');
  const merged = await worktrees.merge(project, worktree);
  expect(await files(merged?.commit ?? '')).toEqual(['.profile', 'README.md', 'staged.txt', 'work.txt']);
});

it('takes nothing out while the worktree is on another branch, or git works in it', async () => {
  const { project, worktrees, worktree, lab } = await setUp();
  const lock = (await lab.git(worktree.path, 'rev-parse', '--git-path', 'index')).trim();
  await writeFile(`${lock}.lock`, '');
  const head = await lab.git(worktree.path, 'rev-parse', 'HEAD');
  await expect(worktrees.takeOutPlaceholders(project, worktree)).rejects.toMatchObject({ code: 'commit_refused' });
  await rm(`${lock}.lock`);
  expect(await lab.git(worktree.path, 'rev-parse', 'HEAD')).toBe(head);
  await lab.git(worktree.path, 'switch', '--quiet', '--create', 'other');
  await expect(worktrees.takeOutPlaceholders(project, worktree)).rejects.toMatchObject({ code: 'commit_refused' });
});
