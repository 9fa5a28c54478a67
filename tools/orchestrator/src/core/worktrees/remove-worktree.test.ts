import { access, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import type { RemovalOrder } from './remove-worktree.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

/** A worktree in which somebody has worked with ignored files, and what its removal would put into the trash. */
async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  await lab.commit(path, '.gitignore', 'node_modules/\nnotes/\n*.env\ndist\n');
  const dataDir = join(lab.folder, 'data');
  const worktrees = createWorktrees({ dataDir, env: lab.env });
  const project = sampleProject({ path, settings: { copyIgnored: ['*.env'] } });
  await writeFile(join(path, 'local.env'), 'KEY=1\n');
  await writeFile(join(path, 'other.env'), 'KEY=2\n');
  const worktree = await worktrees.ensure(project, STAGE, null);
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(worktree.path, file)), { recursive: true });
    await writeFile(join(worktree.path, file), text);
  };
  const kept: string[] = [];
  const remove = (order: Partial<RemovalOrder> = {}) =>
    worktrees.remove(project, worktree, {
      buildFolders: 'keep',
      mayBegin: async () => undefined,
      async save(files) {
        for (const { path: file } of files) await access(join(worktree.path, file)); // it is still there to be moved
        kept.push(...files.map((file) => file.path));
        return null;
      },
      ...order,
    });
  const isGone = () => expect(access(worktree.path)).rejects.toThrow();
  return { ...lab, path, worktrees, project, worktree, write, kept, remove, isGone };
}

it('keeps ignored files, except unchanged copies', async () => {
  const { write, kept, remove, isGone } = await setUp();
  await write('notes/plan.md', 'the plan');
  await write('other.env', 'KEY=changed');
  await write('new.env', 'KEY=3');
  expect(await remove()).toEqual({ left: null, kept: null, deleted: [] });
  expect(kept.toSorted()).toEqual(['new.env', 'notes/plan.md', 'other.env']);
  await isGone();
});

it('deletes dependency and build folders only on request, and lists them', async () => {
  const { write, kept, remove, worktrees, project, worktree, isGone } = await setUp();
  await write('node_modules/left-pad/index.js', 'x'.repeat(100));
  await write('packages/app/node_modules/a.js', 'x');
  await write('notes/dist/page.html', 'x');
  await write('notes/plan.md', 'the plan');
  const folders = [
    { path: 'node_modules', bytes: 100 },
    { path: 'notes/dist', bytes: 1 },
    { path: 'packages/app/node_modules', bytes: 1 },
  ];
  const plan = await worktrees.planRemoval(project, worktree);
  expect(plan).toMatchObject({ worktree: worktree.path, left: null, fileCount: 1, branch: { isKept: false } });
  expect(plan.buildFolders.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual(folders);
  const { deleted } = await remove({ buildFolders: 'delete' });
  expect(deleted.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual(folders);
  expect(kept).toEqual(['notes/plan.md']);
  await isGone();
});

it('keeps those folders by default', async () => {
  const { write, kept, remove } = await setUp();
  await write('node_modules/a.js', 'x');
  expect(await remove()).toMatchObject({ deleted: [] });
  expect(kept).toEqual(['node_modules']);
});

it('leaves a folder of such a name in place if git does not ignore it', async () => {
  const { write, remove, worktree } = await setUp();
  await write('build/only-copy.txt', 'x');
  const { left } = await remove({ buildFolders: 'delete' });
  expect(left).toContain('build/');
  expect(await readFile(join(worktree.path, 'build/only-copy.txt'), 'utf8')).toBe('x');
});

it('does not follow links', async () => {
  const { write, kept, remove, path, worktree } = await setUp();
  await write('notes/plan.md', 'the plan');
  await symlink(path, join(worktree.path, 'notes', 'main'));
  await remove();
  expect(kept.toSorted()).toEqual(['notes/main', 'notes/plan.md']);
  expect(await readFile(join(path, 'README.md'), 'utf8')).toBe('# Shop\n');
});

it('removes folder and branch if nothing would be lost', async () => {
  const { remove, path, git, worktree, isGone } = await setUp();
  expect(await remove()).toEqual({ left: null, kept: null, deleted: [] });
  await isGone();
  expect(await git(path, 'branch', '--list', worktree.branch)).toBe('');
});

it('removes a merged branch', async () => {
  const { remove, path, git, commit, worktree } = await setUp();
  await commit(worktree.path, 'feature.txt', 'new');
  await git(path, 'merge', '--quiet', worktree.branch);
  expect(await remove()).toMatchObject({ left: null });
});

it.each(['README.md', 'untracked.txt'])(
  'leaves everything in place if %s is not committed, and says why',
  async (file) => {
    const { write, remove, kept, worktree, worktrees, project } = await setUp();
    await write(file, 'work');
    await write('notes/plan.md', 'the plan');
    const { left } = await remove({ buildFolders: 'delete' });
    expect(left).toContain(`uncommitted changes (${file})`);
    expect(left).not.toMatch(/fatal|--force/);
    expect((await worktrees.planRemoval(project, worktree)).left).toBe(left);
    expect(kept).toEqual([]);
    expect(await readFile(join(worktree.path, 'notes', 'plan.md'), 'utf8')).toBe('the plan');
  },
);

it('keeps an unmerged branch, and says so', async () => {
  const { remove, path, git, commit, worktree, worktrees, project } = await setUp();
  await commit(worktree.path, 'feature.txt', 'new');
  const { branch } = await worktrees.planRemoval(project, worktree);
  expect(branch).toEqual({ name: worktree.branch, isKept: true });
  expect((await remove()).left).toContain('unmerged work');
  expect(await git(path, 'show', `${worktree.branch}:feature.txt`)).toBe('new');
});

it('leaves a locked worktree, without the advice to use force', async () => {
  const { remove, path, git, worktree } = await setUp();
  await git(path, 'worktree', 'lock', worktree.path);
  const { left } = await remove();
  expect(left).toContain('lock');
  expect(left).not.toMatch(/fatal|--force| -f/);
});

it('removes nothing if the stage has been resumed', async () => {
  const { remove, worktree } = await setUp();
  const mayBegin = () => Promise.reject(new Error('it runs'));
  await expect(remove({ mayBegin })).rejects.toThrow('it runs');
  await access(worktree.path);
});

it('leaves everything in place if the files could not be kept', async () => {
  const { remove, write, worktree } = await setUp();
  await write('notes/plan.md', 'the plan');
  await expect(remove({ save: () => Promise.reject(new Error('no room')) })).rejects.toThrow('no room');
  await access(join(worktree.path, 'notes', 'plan.md'));
});

it('removes a worktree with submodules unless they have unpushed commits, and keeps their ignored files', async () => {
  const { remove, path, git, commit, worktrees, folder, kept, env } = await setUp();
  const library = join(folder, 'library');
  await mkdir(library);
  await git(library, 'init', '--quiet', '--initial-branch=main');
  await commit(library, '.gitignore', '*.local\n');
  const allow = ['-c', 'protocol.file.allow=always'];
  await git(path, ...allow, 'submodule', '--quiet', 'add', library, 'library');
  await git(path, 'commit', '--quiet', '-m', 'Library');
  const own = createWorktrees({
    dataDir: join(folder, 'other'),
    env: { ...env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'protocol.file.allow', GIT_CONFIG_VALUE_0: 'always' },
  });
  const reported: string[] = [];
  const settings = { submodules: true };
  const project = sampleProject({ path, settings });
  const worktree = await own.ensure(project, STAGE_2, null, { notify: (notice) => reported.push(notice) });
  expect(reported).toEqual([]);
  await writeFile(join(worktree.path, 'library', 'a.local'), 'mine');
  const order: RemovalOrder = {
    buildFolders: 'delete',
    mayBegin: async () => undefined,
    async save(files) {
      kept.push(...files.map((file) => file.path));
      return null;
    },
  };
  await commit(join(worktree.path, 'library'), 'more.txt', 'x');
  await git(worktree.path, 'commit', '--quiet', '-am', 'Library');
  expect((await own.remove(project, worktree, order)).left).toContain('library');
  await git(join(worktree.path, 'library'), 'push', '--quiet', 'origin', 'HEAD:refs/heads/more');
  await own.remove(project, worktree, order);
  expect(kept).toEqual(['library/a.local']);
  await expect(access(worktree.path)).rejects.toThrow();
  const bare = await worktrees.ensure(sampleProject({ path }), stageId('STAGE-3'), null, {
    notify: (notice) => reported.push(notice),
  });
  expect(reported).toEqual([expect.stringContaining('Their folders are empty')]);
  expect(bare.branch).toBe('callboard/STAGE-3');
  await remove();
});
const STAGE_2 = stageId('STAGE-2');
