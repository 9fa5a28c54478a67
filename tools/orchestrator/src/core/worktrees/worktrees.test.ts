import { access, mkdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countOf } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { failingHook } from '../../../test/support/git-that-dies.ts';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const dataDir = join(lab.folder, 'data');
  const worktrees = createWorktrees({ dataDir, env: lab.env });
  return { ...lab, path, dataDir, worktrees, project: sampleProject({ path }) };
}

const STAGE = stageId('STAGE-1');
const never = new AbortController().signal;

describe('inspecting a folder', () => {
  it('finds the top of the repository from any folder inside it', async () => {
    const { worktrees, path } = await setUp();
    await mkdir(join(path, 'src', 'deep'), { recursive: true });
    expect(await worktrees.inspect(path)).toEqual({ root: path });
    expect(await worktrees.inspect(join(path, 'src', 'deep'))).toEqual({ root: path });
  });

  it('resolves every path to a repository to the same folder', async () => {
    const { worktrees, path, folder } = await setUp();
    await symlink(path, join(folder, 'link'));
    expect(await worktrees.inspect(join(folder, 'link'))).toEqual({ root: await realpath(path) });
  });

  it('refuses a missing folder, a folder without a repository, and a file', async () => {
    const { worktrees, folder, path } = await setUp();
    const refusal = { code: 'not_a_repository', kind: 'rejection' };
    await expect(worktrees.inspect(join(folder, 'nowhere'))).rejects.toMatchObject(refusal);
    await expect(worktrees.inspect(folder)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringContaining('git init'),
    });
    await expect(worktrees.inspect(join(path, 'README.md'))).rejects.toMatchObject(refusal);
  });

  it('refuses a bare repository, and says what it is', async () => {
    const { worktrees, folder, git } = await setUp();
    await git(folder, 'init', '--quiet', '--bare', 'bare.git');
    const refusal = { code: 'not_a_repository', message: expect.stringContaining('bare repository') };
    await expect(worktrees.inspect(join(folder, 'bare.git'))).rejects.toMatchObject(refusal);
  });

  it('refuses a repository without a commit, and says what to do', async () => {
    const { worktrees, folder, git } = await setUp();
    await git(folder, 'init', '--quiet', 'empty');
    const refusal = { code: 'no_commits', message: expect.stringContaining('first commit') };
    await expect(worktrees.inspect(join(folder, 'empty'))).rejects.toMatchObject(refusal);
  });
});

describe('the worktree of a stage', () => {
  it('is a checkout of the current commit, on a branch of its own', async () => {
    const { worktrees, project, path, git, dataDir } = await setUp();
    const worktree = await worktrees.ensure(project, STAGE, null);
    expect(worktree).toEqual({
      path: join(dataDir, 'worktrees', 'shop', 'STAGE-1'),
      branch: 'callboard/STAGE-1',
      base: await git(path, 'rev-parse', 'HEAD'),
    });
    expect(await git(worktree.path, 'branch', '--show-current')).toBe('callboard/STAGE-1');
    expect(await readFile(join(worktree.path, 'README.md'), 'utf8')).toBe('# Shop\n');
    expect(await git(path, 'branch', '--show-current')).toBe('main');
  });

  it('is found again with its contents, and keeps its base while both sides move on', async () => {
    const { worktrees, project, path, commit } = await setUp();
    const first = await worktrees.ensure(project, STAGE, null);
    await commit(first.path, 'feature.txt', 'new');
    await writeFile(join(first.path, 'draft.txt'), 'not committed');
    await commit(path, 'other.txt', 'meanwhile');
    expect(await worktrees.ensure(project, STAGE, first)).toEqual(first);
    expect(await readFile(join(first.path, 'draft.txt'), 'utf8')).toBe('not committed');
  });

  it('is found again if the data directory is reached through a link', async () => {
    const { folder, env, project } = await setUp();
    await mkdir(join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'linked'));
    const worktrees = createWorktrees({ dataDir: join(folder, 'linked'), env });
    const first = await worktrees.ensure(project, STAGE, null);
    expect(await worktrees.ensure(project, STAGE, null)).toEqual(first);
  });

  it('gets names with a number if a branch of its name has other work, and says so', async () => {
    const { worktrees, project, path, git, commit, dataDir } = await setUp();
    await git(path, 'switch', '--quiet', '-c', 'callboard/STAGE-1');
    await commit(path, 'kept.txt', 'of before');
    await git(path, 'switch', '--quiet', 'main');
    await commit(path, 'other.txt', 'meanwhile');
    const reported: string[] = [];
    const worktree = await worktrees.ensure(project, STAGE, null, { notify: (notice) => reported.push(notice) });
    expect(worktree).toEqual({
      path: join(dataDir, 'worktrees', 'shop', 'STAGE-1-2'),
      branch: 'callboard/STAGE-1-2',
      base: await git(path, 'rev-parse', 'main'),
    });
    await expect(access(join(worktree.path, 'kept.txt'))).rejects.toThrow();
    expect(reported).toEqual([expect.stringContaining('callboard/STAGE-1-2')]);
    expect(await worktrees.ensure(project, STAGE, worktree)).toEqual(worktree);
  });

  it.each([
    ['uncommitted work', (path: string) => writeFile(join(path, 'draft.txt'), 'of before')],
    ['ignored files', (path: string) => writeFile(join(path, 'local.env'), 'KEY=1')],
  ])('does not take over what an earlier stage of its name has left: %s', async (_what, leave) => {
    const { worktrees, project, path } = await setUp();
    await writeFile(join(path, '.git', 'info', 'exclude'), '*.env\n');
    const before = await worktrees.ensure(project, STAGE, null);
    await leave(before.path);
    const { path: own, branch } = await worktrees.ensure(project, STAGE, null);
    expect([own, branch]).toEqual([`${before.path}-2`, 'callboard/STAGE-1-2']);
  });

  it('gets names with a number if another Callboard on this repository has its branch', async () => {
    const { worktrees, project, folder, env, git } = await setUp();
    const others = createWorktrees({ dataDir: join(folder, 'other'), env });
    const first = await others.ensure(project, STAGE, null);
    const reported: string[] = [];
    const second = await worktrees.ensure(project, STAGE, null, { notify: (notice) => reported.push(notice) });
    expect([first.branch, second.branch]).toEqual(['callboard/STAGE-1', 'callboard/STAGE-1-2']);
    expect(await git(second.path, 'branch', '--show-current')).toBe('callboard/STAGE-1-2');
    expect(reported).toEqual([expect.stringContaining('belongs to something else')]);
    const third = createWorktrees({ dataDir: join(folder, 'third'), env });
    expect((await third.ensure(project, STAGE, null)).branch).toBe('callboard/STAGE-1-3');
    expect(await worktrees.ensure(project, STAGE, second)).toEqual(second);
  });

  it('takes over an unused worktree of an interrupted start', async () => {
    const { worktrees, project } = await setUp();
    const first = await worktrees.ensure(project, STAGE, null);
    expect(await worktrees.ensure(project, STAGE, null)).toEqual(first);
  });

  it('is recreated from the current commit if its branch is missing too, and says so', async () => {
    const { worktrees, project, path, git, commit } = await setUp();
    const first = await worktrees.ensure(project, STAGE, null);
    await git(path, 'worktree', 'remove', first.path);
    await git(path, 'branch', '--quiet', '-D', first.branch);
    await commit(path, 'other.txt', 'meanwhile');
    const reported: string[] = [];
    const cleanedUp = { ...first, isCleanedUp: true };
    const again = await worktrees.ensure(project, STAGE, cleanedUp, { notify: (notice) => reported.push(notice) });
    expect(again).toEqual({ ...first, base: await git(path, 'rev-parse', 'HEAD') });
    expect(reported).toEqual([expect.stringContaining('current commit')]);
  });

  it('is created despite a failing post-checkout hook, and says so each time', async () => {
    const { worktrees, project, path, git } = await setUp();
    await failingHook(path, 'post-checkout');
    for (const id of ['STAGE-1', 'STAGE-2']) {
      const reported: string[] = [];
      const worktree = await worktrees.ensure(project, stageId(id), null, {
        notify: (notice) => reported.push(notice),
      });
      expect(await git(worktree.path, 'status', '--porcelain')).toBe('');
      expect(reported).toEqual([expect.stringContaining('the hook says no')]);
    }
  });

  it('says where the repository was if it has been moved', async () => {
    const { worktrees, project, path } = await setUp();
    await rename(path, `${path}-moved`);
    const failure = { code: 'worktree_failed', message: expect.stringContaining(`no longer at ${path}`) };
    await expect(worktrees.ensure(project, STAGE, null)).rejects.toMatchObject(failure);
  });

  it('is recreated on its branch after a clean-up, and only then', async () => {
    const { worktrees, project, commit } = await setUp();
    const first = await worktrees.ensure(project, STAGE, null);
    await commit(first.path, 'kept.txt', 'committed');
    await rm(first.path, { recursive: true });
    await expect(worktrees.ensure(project, STAGE, first)).rejects.toMatchObject({ code: 'worktree_replaced' });
    expect(await worktrees.ensure(project, STAGE, { ...first, isCleanedUp: true })).toEqual(first);
    expect(await readFile(join(first.path, 'kept.txt'), 'utf8')).toBe('committed');
  });

  it('is created beside a folder with its name, and is not recreated in place of one', async () => {
    const { worktrees, project, dataDir } = await setUp();
    const taken = join(dataDir, 'worktrees', 'shop', 'STAGE-1');
    await mkdir(join(taken, 'full'), { recursive: true });
    expect((await worktrees.ensure(project, STAGE, null)).path).toBe(`${taken}-2`);
    const failure = {
      code: 'worktree_replaced',
      kind: 'operational',
      message: expect.stringContaining('goes to the trash'),
    };
    const recorded = { path: taken, branch: 'callboard/STAGE-1', base: 'HEAD' };
    await expect(worktrees.ensure(project, STAGE, recorded)).rejects.toMatchObject(failure);
  });
});

describe('merging', () => {
  async function setUpMerge() {
    const all = await setUp();
    const { worktrees, project, path, git, commit } = all;
    await git(path, 'config', 'user.useConfigOnly', 'true'); // so that git makes no identity up, on whatever machine
    const worktree = await worktrees.ensure(project, STAGE, null);
    await commit(worktree.path, 'feature.txt', 'new');
    const { PATH, HOME, GIT_CONFIG_NOSYSTEM } = all.env;
    const env = { PATH: PATH ?? '', HOME: HOME ?? '', GIT_CONFIG_NOSYSTEM: GIT_CONFIG_NOSYSTEM ?? '' };
    const merge = () => createWorktrees({ dataDir: all.dataDir, env }).merge(project, worktree);
    const merger = () => git(path, 'log', '-1', '--format=%cn <%ce>, %an <%ae>');
    return { ...all, merge, merger };
  }

  it('uses the identity of Callboard if git has none', async () => {
    const { merge, merger } = await setUpMerge();
    await merge();
    expect(await merger()).toBe('Callboard <callboard@localhost>, Callboard <callboard@localhost>');
  });

  it("uses the user's identity if git has one", async () => {
    const { merge, merger, git, path } = await setUpMerge();
    await git(path, 'config', 'user.name', 'Ada');
    await git(path, 'config', 'user.email', 'ada@example.org');
    await merge();
    expect(await merger()).toBe('Ada <ada@example.org>, Ada <ada@example.org>');
  });
});

describe('what is merged is what was seen', () => {
  async function setUpSeen() {
    const all = await setUp();
    const { worktrees, project, commit, git, path } = all;
    const worktree = await worktrees.ensure(project, STAGE, null);
    await commit(worktree.path, 'feature.txt', 'new\n');
    const { head, tree } = await worktrees.diff(project, worktree);
    const merge = () => worktrees.merge(project, worktree, { head, tree });
    return { ...all, worktree, merge, head, before: await git(path, 'rev-parse', 'HEAD') };
  }

  it('whatever merge options a script has set for the branch', async () => {
    const { merge, git, path, head } = await setUpSeen();
    await git(path, 'config', 'branch.main.mergeOptions', '--strategy=ours --no-commit');
    await merge();
    expect(await git(path, 'rev-parse', 'HEAD^2')).toBe(head);
    expect(await readFile(join(path, 'feature.txt'), 'utf8')).toBe('new\n');
  });

  it('and a merge with another commit or other files is refused with the reason', async () => {
    const { merge, git, path, before, worktree, commit, head } = await setUpSeen();
    await writeFile(join(worktree.path, 'feature.txt'), 'other\n');
    await expect(merge()).rejects.toMatchObject({
      code: 'head_moved',
      message: expect.stringContaining('files in the'),
    });
    await git(worktree.path, 'update-index', '--assume-unchanged', 'feature.txt');
    await expect(merge()).rejects.toMatchObject({
      code: 'head_moved',
      message: expect.stringContaining('files in the'),
    });
    await git(worktree.path, 'update-index', '--no-assume-unchanged', 'feature.txt');
    await git(worktree.path, 'checkout', '--', '.');
    await git(worktree.path, 'commit', '--quiet', '--allow-empty', '-m', 'The same files');
    const refusal = { code: 'head_moved', message: expect.stringContaining('callboard/STAGE-1 has other commits.') };
    await expect(merge()).rejects.toMatchObject(refusal);
    expect(await git(path, 'rev-parse', 'HEAD')).toBe(before);
    await git(worktree.path, 'reset', '--quiet', '--hard', head);
    await commit(path, 'meanwhile.txt', 'main goes on\n');
    await merge();
    expect(await git(path, 'rev-parse', 'HEAD^2')).toBe(head);
  });

  it('and files of another branch that the worktree was switched to are refused, though nothing is uncommitted', async () => {
    const { git, worktree, worktrees, project, path, before } = await setUpSeen();
    await git(worktree.path, 'checkout', '--quiet', '-b', 'elsewhere', 'HEAD~1');
    const { head, tree } = await worktrees.diff(project, worktree);
    const merging = worktrees.merge(project, worktree, { head, tree });
    await expect(merging).rejects.toMatchObject({
      code: 'branch_left',
      message: expect.stringContaining('on the branch elsewhere'),
    });
    expect(await git(path, 'rev-parse', 'HEAD')).toBe(before);
  });
});

it('makes many worktrees of one repository at once', async () => {
  const { worktrees, project } = await setUp();
  const stages = Array.from({ length: 30 }, (_, n) => stageId(`STAGE-${n + 1}`));
  const made = await Promise.all(stages.map((id) => worktrees.ensure(project, id, null)));
  expect(new Set(made.map(({ path }) => path)).size).toBe(30);
});

describe('the files of a worktree', () => {
  it('are the tracked and the new ones, without ignored or deleted ones', async () => {
    const { worktrees, project } = await setUp();
    const worktree = await worktrees.ensure(project, STAGE, null);
    await mkdir(join(worktree.path, 'src'));
    await writeFile(join(worktree.path, '.gitignore'), '*.log\n');
    await writeFile(join(worktree.path, 'src', 'a b.txt'), '');
    await writeFile(join(worktree.path, 'noise.log'), '');
    await rm(join(worktree.path, 'README.md'));
    expect(await worktrees.suggestFiles(worktree, '')).toEqual(['.gitignore', 'src/a b.txt']);
    expect(await worktrees.suggestFiles(worktree, 'A b')).toEqual(['src/a b.txt']);
  });

  it('cannot be listed if the worktree is missing', async () => {
    const { worktrees, project } = await setUp();
    const worktree = await worktrees.ensure(project, STAGE, null);
    await rm(worktree.path, { recursive: true });
    await expect(worktrees.suggestFiles(worktree, '')).rejects.toMatchObject({ code: 'worktree_failed' });
  });
});

it('counts what was changed since the base, staged or not, committed or not, and stages nothing', async () => {
  const { worktrees, project, git } = await setUp();
  const worktree = await worktrees.ensure(project, STAGE, null);
  const file = (name: string) => join(worktree.path, name);
  expect(countOf(await worktrees.diff(project, worktree, {}, never))).toEqual({ files: 0, additions: 0, deletions: 0 });
  await writeFile(file('committed.txt'), 'one\ntwo\n');
  await git(worktree.path, 'add', '.');
  await git(worktree.path, 'commit', '--quiet', '--no-gpg-sign', '-m', 'More');
  await writeFile(file('staged.txt'), 'three\n');
  await git(worktree.path, 'add', '.');
  await writeFile(file('new.txt'), 'four\n');
  await rm(file('README.md'));
  const status = await git(worktree.path, 'status', '--porcelain');
  const counts = countOf(await worktrees.diff(project, worktree, {}, never));
  expect(counts).toMatchObject({ files: 4, additions: 4 });
  expect(counts.deletions).toBeGreaterThan(0);
  const { files } = await worktrees.diff(project, worktree);
  expect(files.map(({ path, status }) => `${status} ${path}`)).toEqual([
    'deleted README.md',
    'added committed.txt',
    'added new.txt',
    'added staged.txt',
  ]);
  expect(await git(worktree.path, 'status', '--porcelain')).toBe(status);
});
