import { access, appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { dieOnceAtCheckoutOf, failingHook, gitThat } from '../../../test/support/git-that-dies.ts';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const never = new AbortController().signal;
const [FIRST, SECOND, THIRD] = ['STAGE-1', 'STAGE-2', 'STAGE-3'].map(stageId) as [
  ReturnType<typeof stageId>,
  ReturnType<typeof stageId>,
  ReturnType<typeof stageId>,
];

/** A repository of so many files that a spare worktree is kept, and its first stage. */
async function setUp(files = 600) {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  for (let n = 0; n < files; n++) await writeFile(join(path, `file-${n}.txt`), `${n}\n`);
  await writeFile(join(path, '.gitignore'), '*.env\n');
  await writeFile(join(path, 'local.env'), 'KEY=1\n');
  await lab.git(path, 'add', '--all');
  await lab.git(path, 'commit', '--quiet', '-m', 'Files');
  const dataDir = join(lab.folder, 'data');
  const project = sampleProject({ path, settings: { copyIgnored: ['*.env'] } });
  const worktreesOn = (PATH: string | undefined = lab.env.PATH) =>
    createWorktrees({ dataDir, env: { ...lab.env, ...(PATH === undefined ? {} : { PATH }) } });
  const worktrees = worktreesOn();
  const model = await worktrees.ensure(project, FIRST, null);
  const spare = join(dataDir, 'worktrees', project.id, '.spare');
  const prepare = (on = worktrees) =>
    on.prepareSpare(project, { model, commit: () => on.startCommit(project, null) }, never);
  const isThere = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    );
  const listed = () => lab.git(path, 'worktree', 'list', '--porcelain');
  const inodeOf = async (folder: string) => (await stat(folder)).ino;
  /** All that a stage has of its worktree. */
  const contents = async (folder: string) => ({
    status: await lab.git(folder, 'status', '--porcelain', '--branch'),
    ignored: await lab.git(folder, 'status', '--porcelain', '--ignored'),
    names: (await readdir(folder)).toSorted(),
    head: await lab.git(folder, 'rev-parse', 'HEAD'),
    upstream: await lab.git(folder, 'for-each-ref', '--format=%(upstream)', 'refs/heads/callboard/'),
    stash: await lab.git(folder, 'stash', 'list'),
  });
  return {
    ...lab,
    lab,
    path,
    dataDir,
    project,
    worktrees,
    worktreesOn,
    model,
    spare,
    prepare,
    isThere,
    listed,
    inodeOf,
    contents,
  };
}

describe('a spare worktree', () => {
  it('is not kept with a git that cannot be told to run a hook', async () => {
    const { lab, worktreesOn, prepare, spare, isThere } = await setUp();
    const refused = `echo "git: 'hook' is not a git command." >&2; exit 1`;
    const old = worktreesOn(await gitThat(lab.folder, lab.env.PATH ?? '', 'hook', refused));
    await prepare(old);
    expect(await isThere(spare)).toBe(false);
  });

  it('becomes the worktree of the next stage, which is as a new one', async () => {
    const { worktrees, project, model, spare, prepare, isThere, listed, inodeOf, contents, git } = await setUp();
    await prepare();
    expect(await listed()).toMatch(/worktree \S+\.spare\n.*\ndetached\nlocked Callboard keeps/);
    const inode = await inodeOf(spare);
    const claimed = await worktrees.ensure(project, SECOND, null);
    expect(await inodeOf(claimed.path)).toBe(inode);
    expect(await isThere(spare)).toBe(false);
    expect(claimed).toMatchObject({ branch: 'callboard/STAGE-2', base: model.base });
    const as = await contents(claimed.path);
    expect({ ...as, status: as.status.replace('STAGE-2', 'STAGE-1') }).toEqual(await contents(model.path));
    expect(await listed()).not.toContain('locked');
    expect(worktrees.requireInPlace(project, claimed)).toBeUndefined();
    expect(await worktrees.ensure(project, SECOND, claimed)).toEqual(claimed);
    await git(claimed.path, 'commit', '--quiet', '--allow-empty', '-m', 'Work');
    await git(claimed.path, 'worktree', 'prune');
    expect(await git(claimed.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-2');
  });

  it('is not kept where git is as quick, and is removed with its project', async () => {
    const small = await setUp(10);
    await small.prepare();
    expect(await small.isThere(small.spare)).toBe(false);
    const { worktrees, project, spare, prepare, isThere, listed } = await setUp();
    await prepare();
    expect(await isThere(spare)).toBe(true);
    await worktrees.removeSpare(project);
    expect(await isThere(spare)).toBe(false);
    expect(await listed()).not.toContain('.spare');
    await worktrees.removeSpare(project);
  });

  it('follows the base, both beforehand and when it is claimed', async () => {
    const { worktrees, project, path, spare, prepare, inodeOf, commit, git } = await setUp();
    await prepare();
    const inode = await inodeOf(spare);
    await commit(path, 'file-1.txt', 'newer\n');
    await prepare();
    expect(await git(spare, 'rev-parse', 'HEAD')).toBe(await git(path, 'rev-parse', 'HEAD'));
    await commit(path, 'file-2.txt', 'newest\n');
    const claimed = await worktrees.ensure(project, SECOND, null);
    expect(await inodeOf(claimed.path)).toBe(inode);
    expect(claimed.base).toBe(await git(path, 'rev-parse', 'HEAD'));
    expect(await readFile(join(claimed.path, 'file-2.txt'), 'utf8')).toBe('newest\n');
    expect(await git(claimed.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-2');
    await prepare();
    const chosen = { base: claimed.base, branch: 'feature/own' };
    const third = await worktrees.ensure(project, THIRD, null, { start: chosen });
    expect(await git(third.path, 'branch', '--show-current')).toBe('feature/own');
  });

  it('is used by nobody once somebody has written into it, or other settings decide how files are checked out', async () => {
    const { worktrees, project, path, spare, prepare, inodeOf, isThere, git } = await setUp();
    /** Changes a file so that git does not see it. */
    const hide = async (checkout: string) => {
      await git(checkout, 'update-index', '--skip-worktree', 'file-1.txt');
      await writeFile(join(checkout, 'file-1.txt'), 'changed\n');
      expect(await git(checkout, 'status', '--porcelain')).toBe('');
    };
    for (const [id, spoil] of [
      ['STAGE-2', () => writeFile(join(spare, 'planted.txt'), 'planted\n')],
      ['STAGE-3', () => writeFile(join(spare, 'planted.env'), 'planted\n')],
      ['STAGE-4', () => writeFile(join(spare, 'file-1.txt'), 'changed\n')],
      ['STAGE-5', () => git(path, 'config', 'core.autocrlf', 'true')],
      ['STAGE-6', () => appendFile(join(path, '.git', 'info', 'attributes'), '*.txt text\n')],
      ['STAGE-9', () => hide(spare)],
      ['STAGE-7', () => rename(spare, `${spare}-2`).then(() => mkdir(spare))],
    ] as const) {
      await prepare();
      const inode = await inodeOf(spare);
      await mkdir(join(path, '.git', 'info'), { recursive: true });
      await spoil();
      const made = await worktrees.ensure(project, stageId(id), null);
      expect(await inodeOf(made.path)).not.toBe(inode);
      expect(await isThere(join(made.path, 'planted.txt'))).toBe(false);
      expect((await readFile(join(made.path, 'file-1.txt'), 'utf8')).trim()).toBe('1');
      expect(await git(made.path, 'status', '--porcelain', '--branch')).toBe(`## callboard/${id}`);
    }
    await prepare();
    const inode = await inodeOf(spare);
    expect(await inodeOf((await worktrees.ensure(project, stageId('STAGE-8'), null)).path)).toBe(inode);
  });

  it('runs the hook post-checkout when it is claimed, in its place and on its branch, and reports its failure', async () => {
    const { lab, worktrees, project, path, prepare, spare, isThere, git } = await setUp();
    const hook = join(path, '.git', 'hooks', 'post-checkout');
    const ran = join(lab.folder, 'ran');
    await failingHook(path, 'post-checkout');
    const agreed = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
    await writeFile(hook, `#!/bin/sh\necho "$PWD $(git branch --show-current) $*" >>${ran}\n`);
    await prepare(agreed);
    expect([await isThere(spare), await isThere(ran)]).toEqual([true, false]);
    const claimed = await agreed.ensure(project, SECOND, null);
    const zero = '0'.repeat(40);
    expect(await readFile(ran, 'utf8')).toBe(`${claimed.path} callboard/STAGE-2 ${zero} ${claimed.base} 1\n`);
    await worktrees.removeSpare(project);
    await failingHook(path, 'post-checkout');
    const third = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
    await prepare(third);
    const notices: string[] = [];
    const made = await third.ensure(project, THIRD, null, { notify: (text) => notices.push(text) });
    expect(notices).toEqual(["The repository's post-checkout hook failed in the new worktree: the hook says no"]);
    expect(await git(made.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-3');
  });

  it('is removed if git was killed while it was made, and the next one is whole', async () => {
    const { lab, path, project, spare, prepare, isThere, listed, inodeOf, git } = await setUp();
    const PATH = await gitThat(
      lab.folder,
      lab.env.PATH ?? '',
      'worktree add',
      `$real "$@"; rm ${spare}/file-1.txt; kill -9 $$`,
    );
    const killed = createWorktrees({ dataDir: join(lab.folder, 'data'), env: { ...lab.env, PATH } });
    await prepare(killed);
    expect([await isThere(spare), (await listed()).includes('.spare')]).toEqual([false, false]);
    await dieOnceAtCheckoutOf(lab, path, 'file-3.txt');
    // All of it at once: nobody is left to remove what git had begun.
    await git(path, 'worktree', 'add', '--quiet', '--detach', spare).catch(() => undefined);
    expect(await listed()).toContain('locked initializing');
    const fresh = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
    const made = await fresh.ensure(project, SECOND, null);
    expect(await git(made.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-2');
    await prepare(fresh);
    const inode = await inodeOf(spare);
    const claimed = await fresh.ensure(project, THIRD, null);
    expect(await inodeOf(claimed.path)).toBe(inode);
    expect(await git(claimed.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-3');
  });

  it('keeps no stage waiting that has its worktree', async () => {
    const { lab, worktreesOn, project, model, spare, isThere } = await setUp();
    const begun = join(lab.folder, 'begun');
    const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', 'worktree add', `echo >>${begun}; exec sleep 1000`);
    const worktrees = worktreesOn(PATH);
    const ending = new AbortController();
    const commit = () => worktrees.startCommit(project, null);
    const preparing = worktrees.prepareSpare(project, { model, commit }, ending.signal);
    const begins = (times: number) =>
      until(`git has begun ${times} times`, () =>
        readFile(begun, 'utf8').then(
          ({ length }) => length === times,
          () => false,
        ),
      );
    await begins(1);
    expect(await worktrees.ensure(project, FIRST, model)).toEqual(model);
    await begins(2); // it begins again
    ending.abort();
    await expect(preparing).rejects.toThrow();
    expect(await isThere(spare)).toBe(false);
  });

  it.each([
    ['before its branch is made', 'branch', 'exit 1'],
    ['when its branch is made', 'branch', '$real "$@"; exit 1'],
    ['before it is on its branch', 'symbolic-ref HEAD', 'exit 1'],
    ['when the base has moved', 'checkout', 'exit 1'],
  ])('gives way to a new one if git fails %s', async (when, command, instead) => {
    const { lab, path, project, spare, prepare, listed, isThere, commit, git, worktreesOn } = await setUp();
    await prepare();
    if (when === 'when the base has moved') await commit(path, 'file-1.txt', 'newer\n');
    const PATH = await gitThat(lab.folder, lab.env.PATH ?? '', command, instead);
    const made = await worktreesOn(PATH).ensure(project, SECOND, null);
    expect(await git(made.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-2');
    expect(made.base).toBe(await git(path, 'rev-parse', 'HEAD'));
    expect(await isThere(spare)).toBe(false);
    expect(await listed()).not.toMatch(/locked|\.spare/);
  });

  it.each([
    'as it is claimed',
    'before it is moved',
    'when it is moved',
    'when its branch is made',
    'when all but the mark is made',
  ])('that is left by a kill %s belongs to the same start the next time, or is removed', async (when) => {
    const { path, dataDir, project, worktrees, spare, prepare, listed, isThere, git } = await setUp();
    await prepare();
    // What the claim does, up to here.
    const entry = (await readFile(join(spare, '.git'), 'utf8')).replace('gitdir: ', '').trim();
    const to = join(dataDir, 'worktrees', project.id, SECOND);
    const steps: [string, () => Promise<unknown>][] = [
      ['as it is claimed', () => rm(join(entry, 'callboard-spare'))],
      ['', () => writeFile(join(entry, 'locked'), 'initializing')],
      ['before it is moved', () => writeFile(join(entry, 'gitdir'), `${to}/.git\n`)],
      ['when it is moved', () => rename(spare, to)],
      ['when its branch is made', () => git(path, 'branch', 'callboard/STAGE-2')],
      ['when all but the mark is made', () => git(to, 'symbolic-ref', 'HEAD', 'refs/heads/callboard/STAGE-2')],
    ];
    for (const [name, step] of steps) {
      await step();
      if (name === when) break;
    }
    const made = await worktrees.ensure(project, SECOND, null);
    expect(made).toMatchObject({ path: to, branch: 'callboard/STAGE-2' });
    expect(await git(made.path, 'status', '--porcelain', '--branch')).toBe('## callboard/STAGE-2');
    await prepare();
    expect(await git(spare, 'status', '--porcelain', '--ignored')).toBe('');
    await worktrees.removeSpare(project);
    expect(await isThere(spare)).toBe(false);
    expect((await listed()).match(/^worktree /gm)).toHaveLength(3);
    expect(await readdir(join(path, '.git', 'worktrees'))).toHaveLength(2);
  });
});
