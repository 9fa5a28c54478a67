import { access, chmod, lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countOf } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';

/** What the sandbox makes where it keeps a command from making a file. */
async function mountPoint(path: string): Promise<void> {
  await writeFile(path, '');
  await chmod(path, 0o444);
}

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const project = sampleProject({ path });
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  await mkdir(join(worktree.path, '.claude'));
  for (const name of ['.bashrc', '.mcp.json', '.claude/settings.json']) await mountPoint(join(worktree.path, name));
  const isThere = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    );
  return { lab, path, project, worktrees, worktree, isThere };
}

it('leaves mount points of a sandbox out of diffs, counts, suggestions and snapshots', async () => {
  const { project, worktrees, worktree } = await setUp();
  await writeFile(join(worktree.path, 'work.txt'), 'work\n');
  await writeFile(join(worktree.path, '.profile'), 'a person wrote this\n');
  const diff = await worktrees.diff(project, worktree);
  expect(diff.files.map((file) => file.path).toSorted()).toEqual(['.profile', 'work.txt']);
  const counts = countOf(await worktrees.diff(project, worktree, {}, AbortSignal.timeout(30_000)));
  expect(counts).toMatchObject({ files: 2 });
  expect(await worktrees.suggestFiles(worktree, '.bashrc')).toEqual([]);
});

it('removes a worktree in which a killed sandbox left only mount points', async () => {
  const { project, worktrees, worktree, isThere } = await setUp();
  const order = { buildFolders: 'delete' as const, save: async () => null, mayBegin: async () => undefined };
  expect((await worktrees.planRemoval(project, worktree)).left).toBeNull();
  expect((await worktrees.remove(project, worktree, order)).left).toBeNull();
  expect(await isThere(worktree.path)).toBe(false);
});

it('removes mount points and leaves people’s files', async () => {
  const { lab, project, worktrees, worktree, isThere } = await setUp();
  await mountPoint(join(worktree.path, '.gitmodules'));
  await lab.git(worktree.path, 'add', '.gitmodules');
  await writeFile(join(worktree.path, '.zshrc'), '');
  await worktrees.clearSandbox(project, worktree, false);
  expect(await isThere(join(worktree.path, '.bashrc'))).toBe(false);
  expect(await isThere(join(worktree.path, '.claude/settings.json'))).toBe(false);
  expect((await lstat(join(worktree.path, '.gitmodules'))).size).toBe(0);
  expect((await lstat(join(worktree.path, '.zshrc'))).size).toBe(0);
});

it('removes the sandbox’s lock on the repository’s configuration if no session of the project runs', async () => {
  const { lab, path, project, worktrees, worktree, isThere } = await setUp();
  const lock = join(path, '.git', 'config.lock');
  await mountPoint(lock);
  await worktrees.clearSandbox(project, worktree, false);
  expect(await isThere(lock)).toBe(true);
  await worktrees.clearSandbox(project, worktree, true);
  await lab.git(path, 'config', 'user.nickname', 'Ada');

  await writeFile(lock, ''); // git's own, of somebody who changes the configuration just now
  await worktrees.clearSandbox(project, worktree, true);
  expect(await isThere(lock)).toBe(true);
});

it('creates worktrees while a sandbox locks the configuration of the repository', async () => {
  const { path, project, worktrees } = await setUp();
  await mountPoint(join(path, '.git', 'config.lock'));
  const other = await worktrees.ensure(project, stageId('STAGE-2'), null);
  expect((await lstat(join(other.path, 'README.md'))).isFile()).toBe(true);
});
