import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  await lab.commit(path, '.gitignore', '*.log\nbuild/\n');
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, STAGE, null);
  const file = (name: string) => join(worktree.path, name);
  const write = async (name: string, content: string) => {
    await mkdir(dirname(file(name)), { recursive: true });
    await writeFile(file(name), content);
  };
  const read = (name: string) => readFile(file(name), 'utf8');
  const save = async (name: string) => (await worktrees.snapshotTurn(worktree, { stageId: STAGE, name })).commit;
  return { ...lab, worktrees, project, worktree, file, write, read, save };
}

it('brings back changed, deleted and renamed files, modes and links, and removes new ones with their folders', async () => {
  const { worktrees, worktree, file, write, read, save, git } = await setUp();
  await write('src/a.txt', 'one\n');
  await write('src/run.sh', 'echo\n');
  await chmod(file('src/run.sh'), 0o755);
  await symlink('a.txt', file('src/link'));
  await write('odd "name" \t.txt', 'odd\n');
  const saved = await save('1');
  await write('src/a.txt', 'two\n');
  await write('new/deep/b.txt', 'b\n');
  await rm(file('src/link'));
  await chmod(file('src/run.sh'), 0o644);
  await rm(file('odd "name" \t.txt'));
  await git(worktree.path, 'add', '--all');
  await git(worktree.path, 'commit', '--quiet', '-m', 'by Claude');
  const head = await git(worktree.path, 'rev-parse', 'HEAD');
  const plan = await worktrees.planRestore(worktree, { target: saved });
  expect(plan.changes.map(({ path, status }) => `${status} ${path}`).toSorted()).toEqual([
    'added odd "name" \t.txt',
    'added src/link',
    'deleted new/deep/b.txt',
    'modified src/a.txt',
    'modified src/run.sh',
  ]);
  expect(await read('src/a.txt')).toBe('two\n');
  expect(await worktrees.commitsSince(worktree, `${saved}^1`)).toBe(1);
  await worktrees.restore(worktree, { target: saved });
  expect(await read('src/a.txt')).toBe('one\n');
  expect(await read('odd "name" \t.txt')).toBe('odd\n');
  expect((await lstat(file('src/link'))).isSymbolicLink()).toBe(true);
  expect((await stat(file('src/run.sh'))).mode & 0o111).not.toBe(0);
  expect(existsSync(file('new'))).toBe(false);
  expect(await git(worktree.path, 'rev-parse', 'HEAD')).toBe(head);
  expect((await worktrees.planRestore(worktree, { target: saved })).changes).toEqual([]);
});

it('touches nothing that is in no snapshot, and says so', async () => {
  const { worktrees, worktree, file, write, read, save, git } = await setUp();
  await write('data', 'a file\n');
  await write('settings.txt', 'kept\n');
  const saved = await save('1');
  await write('debug.log', 'ignored\n');
  await rm(file('data'));
  await write('data/build/result', 'ignored\n'); // in the way of the file
  await rm(file('settings.txt'));
  await write('.gitignore', '*.log\nbuild/\nsettings.txt\n');
  await write('settings.txt', 'a secret since\n');
  await write('large.bin', '');
  await truncate(file('large.bin'), 51 * 1024 * 1024);
  await write('vendor/inner/x.txt', 'x\n');
  await git(file('vendor/inner'), 'init', '--quiet');
  const plan = await worktrees.restore(worktree, { target: saved });
  expect(plan.changes.map(({ path }) => path)).toEqual(['.gitignore']);
  expect(plan.blocked).toEqual([
    { path: 'data', reason: 'in-the-way' },
    { path: 'settings.txt', reason: 'in-the-way' },
  ]);
  expect(plan.notKept.map(({ path, reason }) => `${reason} ${path}`)).toEqual(
    expect.arrayContaining(['too-large large.bin', 'nested-repository vendor/inner', 'ignored debug.log']),
  );
  expect(await read('settings.txt')).toBe('a secret since\n');
  expect(await read('data/build/result')).toBe('ignored\n');
  expect(await read('debug.log')).toBe('ignored\n');
  expect(await read('vendor/inner/x.txt')).toBe('x\n');
  expect((await stat(file('large.bin'))).size).toBe(51 * 1024 * 1024);
});

it('leaves alone what somebody changed since the present files were kept, and follows no link out of the worktree', async () => {
  const { folder, worktrees, worktree, file, write, read, save } = await setUp();
  await write('a.txt', 'one\n');
  await write('dir/x.txt', 'one\n');
  const target = await save('1');
  await write('a.txt', 'two\n');
  await write('b.txt', 'two\n');
  await rm(file('dir'), { recursive: true });
  const kept = await save('before');
  await write('a.txt', 'by a person\n');
  await mkdir(join(folder, 'outside'));
  await writeFile(join(folder, 'outside', 'x.txt'), 'not ours\n');
  await write('.gitignore', '*.log\nbuild/\ndir\n');
  await symlink(join(folder, 'outside'), file('dir'));
  const { blocked } = await worktrees.restore(worktree, { target, kept });
  expect(blocked).toEqual([
    { path: '.gitignore', reason: 'changed-since' },
    { path: 'a.txt', reason: 'changed-since' },
    { path: 'dir/x.txt', reason: 'in-the-way' },
  ]);
  expect(await read('a.txt')).toBe('by a person\n');
  expect(existsSync(file('b.txt'))).toBe(false);
  expect(await readFile(join(folder, 'outside', 'x.txt'), 'utf8')).toBe('not ours\n');
});

it('drops the refs of a stage and no others', async () => {
  const { worktrees, worktree, project, write, save, git } = await setUp();
  await write('a.txt', 'one\n');
  const first = await save('2026-01-01T10:00:00.000Z');
  await worktrees.pinTurn(project, stageId('STAGE-10'), 'fork', first);
  const refs = async () =>
    (await git(project.path, 'for-each-ref', '--format=%(refname)', 'refs/callboard')).split('\n');
  expect(await refs()).toHaveLength(2);
  await worktrees.dropTurns(project, STAGE);
  expect(await refs()).toEqual([expect.stringContaining('refs/callboard/turns/STAGE-10/')]);
  expect(await worktrees.requireCommit(worktree, first)).toBe(first);
  await rm(project.path, { recursive: true });
  await worktrees.dropTurns(project, stageId('STAGE-10'));
});

it('leaves files that the rules of that moment ignore: no snapshot with those rules could have them', async () => {
  const { worktrees, worktree, file, write, read, save, git } = await setUp();
  const before = await save('1');
  await write('out/.gitignore', '*\n!.gitignore\n');
  await write('out/deep/"result".bin', 'precious\n');
  await write('new.txt', 'new\n');
  const present = await save('2');
  const back = await worktrees.restore(worktree, { target: before });
  expect(back.changes.map(({ path }) => path).toSorted()).toEqual(['new.txt', 'out/.gitignore']);
  // Untracked now, and in no snapshot: the way forward must not take it for a new file.
  await write('added.txt', 'added since\n');
  await write('out/forced', 'tracked\n');
  await git(worktree.path, 'add', 'out/forced');
  const { changes, notKept } = await worktrees.restore(worktree, { target: present });
  expect(changes.map(({ path, status }) => `${status} ${path}`).toSorted()).toEqual([
    'added new.txt',
    'added out/.gitignore',
    'deleted added.txt',
    'deleted out/forced',
  ]);
  expect(notKept).toContainEqual({ path: 'out/deep/"result".bin', reason: 'ignored', bytes: null });
  expect(await read('out/deep/"result".bin')).toBe('precious\n');
  expect(existsSync(file('added.txt'))).toBe(false);
});
