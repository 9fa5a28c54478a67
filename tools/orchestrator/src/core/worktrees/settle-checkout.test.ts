import { createHash } from 'node:crypto';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { MergeMethod } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { canMount, mountSmallDisk } from '../../../test/support/small-disk.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees, type Merged } from './worktrees.ts';

const AT = '2026-01-02T03:04:05.000Z';
const big = (seed: number) => Buffer.from(Array.from({ length: 70_000 }, (_, n) => (n * seed + (n >> 8)) % 256));

/** A merge that changes every kind of file, and stopped right before git moved the main checkout. */
async function setUp(method: MergeMethod = 'squash') {
  const lab = await createGitLab();
  const { git } = lab;
  const path = await lab.repository('shop');
  const put = async (folder: string, files: Record<string, string | Buffer>) => {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
  };
  const commit = async (folder: string) => {
    await git(folder, 'add', '--all');
    await git(folder, 'commit', '--quiet', '-m', 'Work');
  };
  await put(path, {
    '.gitattributes': '*.win eol=crlf\n*.id ident\n',
    'changed.txt': 'one\ntwo\nthree\n',
    'removed/deep/old.txt': 'old\n',
    'script.sh': 'echo\n',
    'lines.win': 'a\nb\n',
    'who.id': '$Id$\nold\n',
    'data.bin': big(7),
    'was-file': 'file\n',
    'was-folder/a': 'a\n',
    'same.txt': 'same\n',
    ':odd*.txt': 'old\n',
  });
  await symlink('changed.txt', join(path, 'link'));
  await commit(path);
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  const there = worktree.path;
  for (const name of ['removed', 'link', 'was-file', 'was-folder']) await rm(join(there, name), { recursive: true });
  await put(there, {
    '.gitattributes': '*.win eol=crlf\n*.id ident\n*.more eol=crlf\n',
    'changed.txt': 'one\n2\nthree\n',
    'lines.win': 'a\nb\nc\n',
    'who.id': '$Id$\nnew\n',
    'data.bin': big(11),
    'was-file/inside': 'inside\n',
    'was-folder': 'a file now\n',
    'new/deep/file.txt': 'new\n',
    'new.more': 'x\ny\n',
    ':odd*.txt': 'new\n',
  });
  await chmod(join(there, 'script.sh'), 0o755);
  await symlink('same.txt', join(there, 'link'));
  await commit(there);
  await lab.commit(path, 'meanwhile.txt', 'main\n');
  await writeFile(join(path, '.gitignore'), '*.env\n');
  await commit(path);
  // As git writes them: with converted line endings and ids.
  for (const name of ['lines.win', 'who.id']) await rm(join(path, name));
  await git(path, 'checkout', '--quiet', '--', '.');
  await put(path, { 'local.env': 'KEY=1\n', 'untracked.txt': 'mine\n' });
  let planned: Merged | undefined;
  const stop = new Error('killed');
  const mayBegin = async (merged: Merged) => {
    planned = merged;
    throw stop;
  };
  await expect(worktrees.merge(project, worktree, { method, mayBegin })).rejects.toBe(stop);
  if (planned === undefined) throw new Error('nothing was planned');
  const plan = planned;
  const before = await contents(path);
  // What the checkout is after the merge.
  const after = await (async () => {
    const copy = join(lab.folder, 'after');
    await cp(path, copy, { recursive: true, verbatimSymlinks: true });
    await git(copy, 'merge', '--quiet', '--ff-only', plan.commit);
    return { folder: copy, files: await contents(copy) };
  })();
  const settle = () => worktrees.settleMerge(project, plan, Date.now() - 60_000);
  const status = () => git(path, 'status', '--porcelain');
  const head = () => git(path, 'rev-parse', 'HEAD');
  return { ...lab, path, project, worktree, worktrees, planned: plan, before, after, settle, status, head, put };
}

/** All files and links of a checkout, with their bytes, outside of `.git`. */
async function contents(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const name = file.slice(folder.length + 1);
    if (name === '.git' || name.startsWith('.git/')) continue;
    const { mode } = await lstat(file);
    if (entry.isSymbolicLink()) found[name] = `-> ${await readlink(file)}`;
    else if (entry.isFile())
      found[name] = `${mode & 0o111 ? 'x' : '-'} ${createHash('sha256')
        .update(await readFile(file))
        .digest('hex')}`;
    else if (entry.isDirectory() && (await readdir(file)).length === 0) found[name] = 'empty';
  }
  return found;
}

/** The paths in the order in which git writes them: first it removes, then it writes. */
async function steps({ git, path, planned, after }: Awaited<ReturnType<typeof setUp>>) {
  const list = await git(
    path,
    'diff-tree',
    '-r',
    '-z',
    '--no-renames',
    '--name-status',
    planned.previous ?? '',
    planned.commit,
  );
  const fields = list.split('\0');
  const paths: { path: string; status: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2)
    paths.push({ path: fields[at + 1] ?? '', status: fields[at] ?? '' });
  const remove = async (name: string) => {
    await rm(join(path, name), { force: true });
    for (let folder = dirname(name); folder !== '.'; folder = dirname(folder))
      if ((await readdir(join(path, folder)).catch(() => null))?.length === 0)
        await rm(join(path, folder), { recursive: true });
  };
  const write = async (name: string) => {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await cp(join(after.folder, name), join(path, name), { verbatimSymlinks: true });
  };
  const isLink = async (name: string) => (await lstat(join(after.folder, name))).isSymbolicLink();
  const writePart = async (name: string) => {
    const bytes = await readFile(join(after.folder, name));
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), bytes.subarray(0, Math.floor(bytes.length / 2)));
  };
  const all: (() => Promise<void>)[] = [];
  const ordered = [...paths.filter(({ status }) => status === 'D'), ...paths.filter(({ status }) => status !== 'D')];
  for (const { path: name, status } of ordered) {
    if (status !== 'A') all.push(() => remove(name)); // what is new is not there
    if (status === 'D') continue;
    if (!(await isLink(name))) all.push(() => writePart(name));
    all.push(() => write(name));
  }
  return all;
}

describe('a main checkout that git was killed in', () => {
  it('is as before, byte by byte, whatever step git was killed at', async () => {
    const scene = await setUp();
    const { git, path, before, settle, planned } = scene;
    const all = await steps(scene);
    expect(all.length).toBeGreaterThan(20);
    const state = () => git(path, 'status', '--porcelain=v2', '--branch'); // with the commit
    const clean = await state();
    expect(clean).toContain(planned.previous);
    for (let killedAt = 0; killedAt <= all.length; killedAt++) {
      for (const step of all.slice(0, killedAt)) await step();
      await writeFile(join(path, '.git', 'index.lock'), 'half');
      expect(await settle()).toEqual({ commit: null, foreign: [] });
      expect({ killedAt, files: await contents(path) }).toEqual({ killedAt, files: before });
      expect(await state()).toBe(clean);
    }
  });

  it.each(['merge', 'squash', 'rebase'] as const)(
    'is as before a %s also if its index was written and the locks of its branch are left',
    async (method) => {
      const scene = await setUp(method);
      const { git, path, before, settle, status, head, planned } = scene;
      const clean = await status();
      await git(path, 'read-tree', '-m', '-u', planned.previous ?? '', planned.commit);
      for (const lock of ['HEAD.lock', 'refs/heads/main.lock', 'index.lock'])
        await writeFile(join(path, '.git', lock), '');
      expect(await settle()).toEqual({ commit: null, foreign: [] });
      expect(await contents(path)).toEqual(before);
      expect([await status(), await head()]).toEqual([clean, planned.previous]);
    },
  );

  it('is finished where the branch has moved', async () => {
    const scene = await setUp();
    const { git, path, after, settle, status, head, planned } = scene;
    const all = await steps(scene);
    for (const step of all.slice(0, all.length / 2)) await step();
    await git(path, 'update-ref', 'refs/heads/main', planned.commit);
    expect(await settle()).toEqual({ commit: planned.commit, foreign: [] });
    expect(await contents(path)).toEqual(after.files);
    expect([await status(), await head()]).toEqual(['?? untracked.txt', planned.commit]);
  });

  it('keeps what somebody else wrote meanwhile, and names it', async () => {
    const scene = await setUp();
    const { git, path, before, settle, status, put } = scene;
    for (const step of await steps(scene)) await step();
    await put(path, { 'changed.txt': 'my own\n', 'new/deep/file.txt': 'new and mine\n', 'same.txt': 'staged\n' });
    await git(path, 'add', 'same.txt');
    await put(path, { 'same.txt': 'and more\n', 'new/other.txt': 'mine too\n' });
    const { commit, foreign } = await settle();
    expect([commit, foreign.toSorted()]).toEqual([null, ['changed.txt', 'new/deep/file.txt']]);
    const { 'changed.txt': _changed, 'same.txt': _same, ...others } = before;
    expect(await contents(path)).toMatchObject(others);
    const read = (name: string) => readFile(join(path, name), 'utf8');
    expect(await Promise.all(['changed.txt', 'new/deep/file.txt', 'same.txt', 'new/other.txt'].map(read))).toEqual([
      ...['my own\n', 'new and mine\n', 'and more\n', 'mine too\n'],
    ]);
    expect(await git(path, 'show', ':same.txt')).toBe('staged');
    expect((await status()).split('\n').map((line) => line.trim())).toEqual([
      ...['M changed.txt', 'MM same.txt', '?? new/', '?? untracked.txt'],
    ]);
  });

  it('stays as it is where the branch is at another commit', async () => {
    const scene = await setUp();
    const { git, path, settle, put } = scene;
    for (const step of (await steps(scene)).slice(0, 9)) await step();
    await put(path, { 'changed.txt': 'my own\n' });
    await git(path, 'commit', '--quiet', '-am', 'All of it');
    const there = await contents(path);
    expect(await settle()).toEqual({ commit: null, foreign: [] });
    expect(await contents(path)).toEqual(there);
  });

  it('waits for whoever holds an older lock', async () => {
    const scene = await setUp();
    const { path, settle, before } = scene;
    for (const step of (await steps(scene)).slice(0, 9)) await step();
    const lock = join(path, '.git', 'index.lock');
    await writeFile(lock, '');
    await utimes(lock, 0, 0);
    await expect(settle()).rejects.toMatchObject({
      code: 'worktree_failed',
      message: expect.stringContaining(`remove ${lock}`),
    });
    await rm(lock);
    await settle();
    expect(await contents(path)).toEqual(before);
  });

  it('is as after the merge if its undoing stopped halfway', async () => {
    const scene = await setUp();
    const { git, path, worktrees, project, planned, after, status } = scene;
    await git(path, 'merge', '--quiet', '--ff-only', planned.commit);
    await git(path, 'read-tree', '-m', '-u', planned.commit, planned.previous ?? '');
    await writeFile(join(path, '.git', 'index.lock'), '');
    const merge = { ...planned, at: AT };
    const settled = await worktrees.settleUndo(project, merge, Date.now() - 60_000);
    expect(settled).toEqual({ isUndone: false, foreign: [] });
    expect(await contents(path)).toEqual(after.files);
    await worktrees.undoMerge(project, merge, {});
    expect(await status()).toBe('?? untracked.txt');
  });
});

describe.runIf(canMount)('on a disk that gets full', () => {
  it.each(['merge', 'squash', 'rebase'] as const)('a %s changes nothing, and works with more room', async (method) => {
    const scene = await setUp(method);
    const { git, path, worktree, worktrees, planned } = scene;
    const disk = await mountSmallDisk(2);
    // The checkout is on the small disk; its repository, in which the commits are made, is not.
    await rename(join(path, '.git'), join(scene.folder, 'git'));
    await cp(path, disk.folder, { recursive: true, verbatimSymlinks: true });
    await rm(path, { recursive: true });
    await symlink(disk.folder, path);
    await symlink(join(scene.folder, 'git'), join(path, '.git'));
    await git(path, 'reset', '--quiet');
    const before = await contents(disk.folder);
    await disk.fill();
    const order = { method };
    await expect(worktrees.merge(scene.project, worktree, order)).rejects.toMatchObject({
      message: expect.stringContaining('unable to write'),
    });
    await disk.free();
    await worktrees.settleMerge(scene.project, planned, Date.now() - 60_000);
    expect(await contents(disk.folder)).toEqual(before);
    expect(await worktrees.merge(scene.project, worktree, order)).toMatchObject({ method });
  });
});
