import { access, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dieOnceAtCheckoutOf, failingHook, gitThat } from '../../../test/support/git-that-dies.ts';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');
const FILES = Array.from({ length: 40 }, (_, n) => `file-${String(n).padStart(2, '0')}.txt`);

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const dataDir = join(lab.folder, 'data');
  const project = sampleProject({ path, settings: { copyIgnored: ['*.env'] } });
  const worktreesOn = (PATH: string | undefined = lab.env.PATH) =>
    createWorktrees({ dataDir, env: { ...lab.env, ...(PATH === undefined ? {} : { PATH }) } });
  const isThere = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    );
  /** All that there is to see of the main checkout. */
  const checkout = async () => ({
    head: await lab.git(path, 'rev-parse', 'HEAD'),
    branch: await lab.git(path, 'symbolic-ref', 'HEAD'),
    status: await lab.git(path, 'status', '--porcelain'),
    isMerging: await isThere(join(path, '.git', 'MERGE_HEAD')),
    isLocked: await isThere(join(path, '.git', 'index.lock')),
  });
  return { ...lab, lab, path, dataDir, project, worktreesOn, isThere, checkout };
}

/** A stage whose branch adds files, changes one and removes one. */
async function setUpBranch() {
  const all = await setUp();
  const { lab, path, project, worktreesOn } = all;
  await lab.commit(path, 'old.txt', 'old\n');
  const worktree = await worktreesOn().ensure(project, STAGE, null);
  for (const file of FILES) await writeFile(join(worktree.path, file), `${file}\n`);
  await writeFile(join(worktree.path, 'README.md'), '# Changed\n');
  await rm(join(worktree.path, 'old.txt'));
  await lab.git(worktree.path, 'add', '--all');
  await lab.git(worktree.path, 'commit', '--quiet', '-m', 'Work');
  await lab.commit(path, 'meanwhile.txt', 'main goes on\n');
  await writeFile(join(path, 'untracked.txt'), 'mine\n');
  return { ...all, worktree };
}

describe('creating a worktree', () => {
  it('recreates one whose creation was killed, and copies the listed files', async () => {
    const { lab, path, project, worktreesOn, git, checkout } = await setUp();
    for (const file of FILES) await writeFile(join(path, file), `${file}\n`);
    await writeFile(join(path, '.gitignore'), '*.env\n');
    await writeFile(join(path, 'local.env'), 'KEY=1\n');
    await git(path, 'add', '--all');
    await git(path, 'commit', '--quiet', '-m', 'Files');
    const before = await checkout();
    await dieOnceAtCheckoutOf(lab, path, 'file-20.txt');
    await expect(worktreesOn().ensure(project, STAGE, null)).rejects.toMatchObject({ code: 'worktree_failed' });
    expect(await git(path, 'worktree', 'list', '--porcelain')).toContain('locked initializing');
    const worktree = await worktreesOn().ensure(project, STAGE, null);
    expect(await git(worktree.path, 'status', '--porcelain')).toBe('');
    expect(await readFile(join(worktree.path, 'file-39.txt'), 'utf8')).toBe('file-39.txt\n');
    expect(await readFile(join(worktree.path, 'local.env'), 'utf8')).toBe('KEY=1\n');
    expect(await git(path, 'worktree', 'list', '--porcelain')).not.toContain('locked');
    expect(await checkout()).toEqual(before);
  });

  it.each([
    ['before it has done anything', 'kill -9 $$'],
    ['when it has made the branch', '$real branch callboard/STAGE-1; kill -9 $$'],
    ['when all is made', '$real "$@"; kill -9 $$'],
    ['with an error of its own', 'echo "fatal: no luck" >&2; exit 128'],
  ])('works at the second attempt if the first one was ended %s', async (_when, instead) => {
    const { lab, path, project, worktreesOn, git, checkout } = await setUp();
    const before = await checkout();
    const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', 'worktree add', instead);
    await expect(worktreesOn(PATH).ensure(project, STAGE, null)).rejects.toMatchObject({ code: 'worktree_failed' });
    const worktree = await worktreesOn().ensure(project, STAGE, null);
    expect(await git(worktree.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-1');
    expect(await git(path, 'branch', '--list', 'callboard/*')).toContain('STAGE-1');
    expect(await checkout()).toEqual(before);
  });

  it('recreates one even if the removal of the incomplete one was interrupted', async () => {
    const { lab, path, project, worktreesOn, git } = await setUp();
    for (const file of FILES) await writeFile(join(path, file), `${file}\n`);
    await git(path, 'add', '--all');
    await git(path, 'commit', '--quiet', '-m', 'Files');
    await dieOnceAtCheckoutOf(lab, path, 'file-20.txt');
    await expect(worktreesOn().ensure(project, STAGE, null)).rejects.toMatchObject({ code: 'worktree_failed' });
    const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', 'worktree remove', 'kill -9 $$');
    await expect(worktreesOn(PATH).ensure(project, STAGE, null)).rejects.toMatchObject({ code: 'worktree_failed' });
    const worktree = await worktreesOn().ensure(project, STAGE, null);
    expect(await git(worktree.path, 'status', '--porcelain')).toBe('');
    expect(await readFile(join(worktree.path, 'file-39.txt'), 'utf8')).toBe('file-39.txt\n');
  });

  it('copies ignored files that an interrupted attempt missed, and only once', async () => {
    const { path, project, worktreesOn, git, isThere } = await setUp();
    await writeFile(join(path, '.git', 'info', 'exclude'), '*.env\n');
    const worktree = await worktreesOn().ensure(project, STAGE, null);
    await writeFile(join(path, 'local.env'), 'KEY=1\n');
    await worktreesOn().ensure(project, STAGE, worktree);
    expect(await isThere(join(worktree.path, 'local.env'))).toBe(false);
    await worktreesOn().ensure(project, STAGE, null);
    expect(await isThere(join(worktree.path, 'local.env'))).toBe(true);
    expect(await git(worktree.path, 'status', '--porcelain')).toBe('');
  });
});

describe('merging', () => {
  it.each([
    ['merge', 'file-20.txt'],
    ['merge', 'README.md'],
    ['merge', 'file-00.txt'],
    ['squash', 'file-20.txt'],
    ['squash', 'README.md'],
    ['rebase', 'file-20.txt'],
    ['rebase', 'file-00.txt'],
  ] as const)(
    'leaves the main checkout unchanged if git is killed in a %s at %s, and merges at the second attempt',
    async (method, file) => {
      const { lab, path, project, worktree, worktreesOn, checkout, git } = await setUpBranch();
      const before = await checkout();
      await dieOnceAtCheckoutOf(lab, path, file);
      await expect(worktreesOn().merge(project, worktree, { method })).rejects.toMatchObject({
        code: 'merge_refused',
        message: expect.stringContaining('Nothing was merged, and the main checkout is unchanged'),
      });
      expect(await checkout()).toEqual(before);
      expect(await readFile(join(path, 'README.md'), 'utf8')).toBe('# Shop\n');
      await worktreesOn().merge(project, worktree, { method });
      expect(await git(path, 'status', '--porcelain')).toBe('?? untracked.txt');
      expect(await readFile(join(path, 'file-39.txt'), 'utf8')).toBe('file-39.txt\n');
    },
  );

  it('restores files whose names look like patterns to git', async () => {
    const { lab, path, project, worktreesOn, checkout } = await setUp();
    const odd = [':odd.txt', ':!README.md', '[a]*.txt'];
    const write = (folder: string, text: string) => Promise.all(odd.map((name) => writeFile(join(folder, name), text)));
    await write(path, 'old\n');
    await lab.git(path, 'add', '--all');
    await lab.git(path, 'commit', '--quiet', '-m', 'Odd names');
    const worktree = await worktreesOn().ensure(project, STAGE, null);
    await write(worktree.path, 'new\n');
    await writeFile(join(worktree.path, 'README.md'), '# Changed\n');
    await writeFile(join(worktree.path, 'z.txt'), 'z\n');
    await lab.git(worktree.path, 'add', '--all');
    await lab.git(worktree.path, 'commit', '--quiet', '-m', 'Work');
    await lab.commit(path, 'meanwhile.txt', 'main goes on\n');
    const before = await checkout();
    await dieOnceAtCheckoutOf(lab, path, 'z.txt');
    await expect(worktreesOn().merge(project, worktree)).rejects.toMatchObject({
      message: expect.stringContaining('Nothing was merged, and the main checkout is unchanged'),
    });
    expect(await checkout()).toEqual(before);
    for (const name of odd) expect(await readFile(join(path, name), 'utf8')).toBe('old\n');
  });

  it('runs concurrent merges in one checkout one after another', async () => {
    const { lab, path, project, worktree, worktreesOn, git } = await setUpBranch();
    const worktrees = worktreesOn();
    const others = [];
    for (const id of ['STAGE-2', 'STAGE-3']) {
      const other = await worktrees.ensure(project, stageId(id), null);
      await lab.commit(other.path, `${id}.txt`, 'mine\n');
      others.push(other);
    }
    await Promise.all([worktree, ...others].map((each) => worktrees.merge(project, each)));
    const merged = await git(path, 'log', '--merges', '--format=%s');
    for (const id of ['STAGE-1', 'STAGE-2', 'STAGE-3']) expect(merged).toContain(id);
  });

  it.each([
    ['merge', "Merge branch 'callboard/STAGE-1' into main"],
    ['squash', 'Work'],
    ['rebase', 'Work'],
  ] as const)('counts a %s as done if git was killed after it had finished', async (method, subject) => {
    const { lab, path, project, worktree, worktreesOn, git } = await setUpBranch();
    const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', 'merge', '$real "$@"; kill -9 $$');
    const merged = await worktreesOn(PATH).merge(project, worktree, { method });
    expect(merged?.commit).toBe(await git(path, 'rev-parse', 'HEAD'));
    expect(await git(path, 'log', '-1', '--format=%s')).toBe(subject);
  });

  it.each(['squash', 'rebase'] as const)('has changed nothing if a step of a %s before is killed', async (method) => {
    const { lab, project, worktree, worktreesOn, checkout } = await setUpBranch();
    const before = await checkout();
    for (const command of ['commit-tree', 'merge-tree', 'rev-list', 'merge']) {
      const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', command, 'kill -9 $$');
      await expect(worktreesOn(PATH).merge(project, worktree, { method })).rejects.toThrow();
      expect(await checkout()).toEqual(before);
    }
    expect(await worktreesOn().merge(project, worktree, { method })).toMatchObject({ method, commits: 1 });
  });

  it.each(['squash', 'rebase'] as const)('refuses a %s where git is too old for it', async (method) => {
    const { lab, path, project, worktree, worktreesOn, checkout } = await setUpBranch();
    const before = await checkout();
    const old = await gitThat(lab.folder, lab.env.PATH ?? '', 'merge-tree', 'exit 129');
    const worktrees = worktreesOn(
      await gitThat(join(lab.folder, '2'), old, 'version', 'echo git version 2.34.1; exit'),
    );
    const message = 'To squash or rebase, Callboard needs git 2.38 or newer. Merge with a merge commit, or update git.';
    await expect(worktrees.merge(project, worktree, { method })).rejects.toMatchObject({ message });
    expect(await worktrees.planMerge(project, worktree, { method, title: 'T' })).toMatchObject({ refusal: message });
    expect(await checkout()).toEqual(before);
    await lab.git(path, 'reset', '--quiet', '--hard', 'HEAD^');
    // Nothing has to be merged if only the branch has moved.
    if (method === 'rebase') expect(await worktrees.merge(project, worktree, { method })).toMatchObject({ commits: 1 });
  });

  it('undoes a merge that a hook refuses, with the message of the hook', async () => {
    const { path, project, worktree, worktreesOn, checkout } = await setUpBranch();
    await failingHook(path, 'pre-merge-commit');
    const before = await checkout();
    await expect(worktreesOn().merge(project, worktree)).rejects.toMatchObject({
      code: 'merge_refused',
      message: expect.stringMatching(
        /^Git refused to merge callboard\/STAGE-1, so nothing was merged\.\nthe hook says no\n[^\n]*$/,
      ),
    });
    expect(await checkout()).toEqual(before);
    await rm(join(path, '.git', 'hooks', 'pre-merge-commit'));
    await worktreesOn().merge(project, worktree);
    expect(await readFile(join(path, 'README.md'), 'utf8')).toBe('# Changed\n');
  });

  it('waits for another git that holds the index for a moment', async () => {
    const { path, project, worktree, worktreesOn, checkout } = await setUpBranch();
    const lock = join(path, '.git', 'index.lock');
    await writeFile(lock, '');
    setTimeout(() => void rm(lock), 1_500); // an editor that looks at the status, on a busy machine
    await worktreesOn().merge(project, worktree);
    expect((await checkout()).status).toBe('?? untracked.txt');
  });

  it('waits for one that begins while the merge is being prepared', async () => {
    const { lab, path, project, worktree, worktreesOn, checkout } = await setUpBranch();
    const lock = join(path, '.git', 'index.lock');
    const instead = `touch ${lock}; (sleep 1; rm ${lock}) >&- 2>&- &`;
    const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', 'merge-tree', instead);
    await worktreesOn(PATH).merge(project, worktree);
    expect((await checkout()).status).toBe('?? untracked.txt');
  });

  it('locks nothing to see whether a merge would be possible', async () => {
    const { path, project, worktree, worktreesOn } = await setUpBranch();
    const now = new Date();
    await utimes(join(path, 'old.txt'), now, now); // git would note in its index that it is unchanged
    const before = await stat(join(path, '.git', 'index'));
    await worktreesOn().requireMergeable(project, worktree);
    const { ino, mtimeMs } = await stat(join(path, '.git', 'index'));
    expect({ ino, mtimeMs }).toEqual({ ino: before.ino, mtimeMs: before.mtimeMs });
  });

  it('waits as long before uncommitted work is committed for a merge', async () => {
    const { git, project, worktree, worktreesOn } = await setUpBranch();
    await writeFile(join(worktree.path, 'late.txt'), 'late\n');
    const seen = { head: await git(worktree.path, 'rev-parse', 'HEAD') };
    const lock = await git(worktree.path, 'rev-parse', '--git-path', 'index.lock');
    await writeFile(lock, '');
    setTimeout(() => void rm(lock), 1_500);
    await worktreesOn().requireCommittable(project, worktree, seen);
    const commit = await worktreesOn().commit(project, worktree, { message: 'Late', ...seen });
    expect(await git(worktree.path, 'show', '--format=%s', '--name-only', commit)).toBe('Late\n\nlate.txt');
  });

  it('leaves a foreign lock in place, and names it', async () => {
    const { path, project, worktree, worktreesOn, checkout } = await setUpBranch();
    await writeFile(join(path, '.git', 'index.lock'), '');
    const before = await checkout();
    await expect(worktreesOn().merge(project, worktree)).rejects.toMatchObject({
      code: 'merge_refused',
      message: expect.stringContaining('index.lock'),
    });
    expect(await checkout()).toEqual(before);
    await rm(join(path, '.git', 'index.lock'));
    await worktreesOn().merge(project, worktree);
    expect((await checkout()).status).toBe('?? untracked.txt');
  });

  it.each([
    ['sees a conflict beforehand', 'exec "$real" "$@"'],
    ['takes a conflict back where git is too old to see it', 'exit 129'],
  ])('%s, and says in which files it is', async (_, mergeTree) => {
    const { lab, path, project, worktree, worktreesOn, checkout } = await setUpBranch();
    await lab.commit(path, 'README.md', '# Changed otherwise\n');
    const before = await checkout();
    const worktrees = worktreesOn(await gitThat(lab.folder, lab.env.PATH ?? '', 'merge-tree', mergeTree));
    await expect(worktrees.merge(project, worktree)).rejects.toMatchObject({
      code: 'merge_conflict',
      message: expect.stringContaining('README.md'),
    });
    expect(await checkout()).toEqual(before);
  });
});
