import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const REF = 'refs/callboard/trash/STAGE-1/now';

async function setUp() {
  const lab = await createGitLab();
  const checkout = await lab.repository('shop');
  await lab.commit(checkout, '.gitignore', 'notes/\n*.env\n');
  await lab.commit(checkout, 'old.txt', 'old\n');
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const worktree = await worktrees.ensure(sampleProject({ path: checkout }), stageId('STAGE-1'), null);
  const inTree = (...args: string[]) => lab.git(worktree.path, ...args);
  const write = (file: string, text: string) => writeFile(join(worktree.path, file), text);
  const save = () => worktrees.save(worktree, { ref: REF, message: 'Kept' });
  const filesOf = async (commit: string) => (await inTree('ls-tree', '-r', '--name-only', commit)).split('\n');
  return { ...lab, checkout, worktrees, worktree, inTree, write, save, filesOf };
}

it('keeps tracked and untracked files as a commit on the ref, and stages nothing', async () => {
  const { worktree, inTree, write, save, filesOf, checkout, git } = await setUp();
  await write('README.md', '# Changed\n');
  await rm(join(worktree.path, 'old.txt'));
  await write('new.txt', 'new\n');
  const before = [await inTree('status', '--porcelain'), await inTree('rev-parse', 'HEAD')];
  const { commit, tree, leftOut } = await save();
  expect(leftOut).toEqual([]);
  expect(await git(checkout, 'rev-parse', REF)).toBe(commit);
  expect(await inTree('rev-parse', `${commit}^{tree}`)).toBe(tree);
  expect(await inTree('rev-parse', `${commit}^@`)).toBe(before[1]);
  expect(await filesOf(commit)).toEqual(['.gitignore', 'README.md', 'new.txt']);
  expect(await inTree('show', `${commit}:README.md`)).toBe('# Changed');
  expect([await inTree('status', '--porcelain'), await inTree('rev-parse', 'HEAD')]).toEqual(before);
});

it('names what it leaves out: ignored files, nested repositories and files above 50 MB', async () => {
  const { worktree, inTree, write, save, filesOf, worktrees, git } = await setUp();
  await mkdir(join(worktree.path, 'notes'));
  await write('notes/plan.md', 'the plan');
  await write('my.env', 'KEY=1');
  await mkdir(join(worktree.path, 'inner/deep'), { recursive: true });
  await git(join(worktree.path, 'inner'), 'init', '--quiet');
  await write('inner/deep/a.txt', 'a');
  await write('huge.bin', '');
  await truncate(join(worktree.path, 'huge.bin'), 50 * 1024 * 1024 + 1);
  await truncate(join(worktree.path, 'old.txt'), 60 * 1024 * 1024);
  await write('large.bin', '');
  await truncate(join(worktree.path, 'large.bin'), 1024 * 1024);
  const beforehand = await worktrees.leftOut(worktree);
  const { commit, leftOut } = await save();
  expect(beforehand).toEqual(leftOut);
  expect(leftOut.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual([
    { path: 'huge.bin', reason: 'too-large', bytes: 50 * 1024 * 1024 + 1 },
    { path: 'inner', reason: 'nested-repository', bytes: null },
    { path: 'my.env', reason: 'ignored', bytes: null },
    { path: 'notes', reason: 'ignored', bytes: null },
    { path: 'old.txt', reason: 'too-large', bytes: 60 * 1024 * 1024 },
  ]);
  expect(await filesOf(commit)).toEqual(['.gitignore', 'README.md', 'large.bin', 'old.txt']);
  expect(await inTree('show', `${commit}:old.txt`)).toBe('old');
  await git(join(worktree.path, 'inner'), 'add', '--all');
  await git(join(worktree.path, 'inner'), 'commit', '--quiet', '-m', 'Inner');
  const again = await save();
  expect(again.leftOut.map(({ path }) => path)).toContain('inner');
  expect(await filesOf(again.commit)).not.toContain('inner');
});

it('leaves a submodule at the commit that the worktree has, and names one with changes', async () => {
  const { worktree, inTree, save, git, commit: commitIn, repository } = await setUp();
  const library = await repository('library');
  await git(worktree.path, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib');
  await inTree('commit', '--quiet', '-m', 'A submodule');
  const first = await save();
  expect(first.leftOut).toEqual([]);
  await commitIn(join(worktree.path, 'lib'), 'more.txt', 'more\n');
  const second = await save();
  expect(second.leftOut).toEqual([{ path: 'lib', reason: 'nested-repository', bytes: null }]);
  expect(second.tree).toBe(first.tree);
});

it('keeps what was staged and then changed again, also beside a conflict', async () => {
  const { inTree, write, save, worktree, commit: commitIn } = await setUp();
  await write('old.txt', 'staged\n');
  await inTree('add', 'old.txt');
  await write('old.txt', 'changed again\n');
  const { commit } = await save();
  expect(await inTree('show', `${commit}:old.txt`)).toBe('changed again');
  expect(await inTree('show', `${commit}^2:old.txt`)).toBe('staged');
  await inTree('reset', '--quiet', '--hard');
  await inTree('checkout', '--quiet', '-b', 'other');
  await commitIn(worktree.path, 'old.txt', 'theirs\n');
  await inTree('checkout', '--quiet', worktree.branch);
  await commitIn(worktree.path, 'old.txt', 'ours\n');
  await inTree('merge', 'other').catch(() => undefined);
  const conflict = await save();
  expect(await inTree('show', `${conflict.commit}:old.txt`)).toContain('<<<<<<<');
});

it('leaves the ref as it was when git fails', async () => {
  const { save, checkout, git } = await setUp();
  await save();
  await rm(join(checkout, '.git', 'worktrees', 'STAGE-1', 'HEAD'), { force: true });
  const known = await git(checkout, 'rev-parse', REF);
  await expect(save()).rejects.toMatchObject({ code: 'worktree_failed' });
  expect(await git(checkout, 'rev-parse', REF)).toBe(known);
});
