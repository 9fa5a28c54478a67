import { access, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { NO_REPOSITORY, openTestStore, sampleProject, sampleStage, silent } from '../../../test/support/test-store.ts';
import { createTrash } from './trash.ts';

const FILES = [
  { path: 'notes/plan.md', bytes: 8 },
  { path: '.env', bytes: 5 },
  { path: 'link', bytes: 1 },
];

async function setUp(dataDir?: string) {
  const folder = await temporaryFolder();
  const worktree = join(folder, 'worktree');
  const { store, platform } = await openTestStore();
  const trash = createTrash({
    here: null,
    store,
    platform,
    log: silent,
    worktrees: NO_REPOSITORY,
    dataDir: dataDir ?? join(folder, 'data'),
  });
  const path = join(folder, 'again');
  const stage = sampleStage({ id: 'STAGE-1', title: 'Login', worktree: { path, branch: 'b', base: 'c' } });
  await mkdir(join(worktree, 'notes'), { recursive: true });
  await writeFile(join(worktree, 'notes', 'plan.md'), 'the plan');
  await writeFile(join(worktree, '.env'), 'KEY=1', { mode: 0o600 });
  await symlink('notes', join(worktree, 'link'));
  const save = () => trash.save(worktree, FILES, { project: sampleProject(), stage, by: 'Ada' });
  return { folder, worktree, store, trash, stage, path, save, dataDir: dataDir ?? join(folder, 'data') };
}

const gone = (path: string) => expect(access(path)).rejects.toThrow();

it('moves files away, records their stage, and restores them unchanged', async () => {
  const { trash, save, worktree, folder } = await setUp();
  const entry = await save();
  expect(await readdir(worktree)).toEqual(['notes']);
  expect(entry).toMatchObject({
    stageTitle: 'Login',
    by: 'Ada',
    fileCount: 3,
    bytes: 14,
    files: FILES,
    worktree: null,
  });
  expect(Date.parse(entry.expiresAt) - Date.parse(entry.at)).toBeGreaterThanOrEqual(30 * 24 * 3_600_000);
  expect(await trash.list()).toEqual([entry]);
  const target = join(folder, 'restored');
  expect(await trash.restore(entry.id, target)).toEqual({ folder: target, files: FILES, fileCount: 3, branch: null });
  expect(await readFile(join(target, 'link', 'plan.md'), 'utf8')).toBe('the plan');
  expect((await stat(join(target, '.env'))).mode & 0o777).toBe(0o600);
  expect(await trash.list()).toEqual([]);
  await expect(trash.restore(entry.id, target)).rejects.toMatchObject({ code: 'unknown_trash' });
});

it('moves files to another file system and back', async () => {
  const other = await mkdtemp('/dev/shm/callboard-test-');
  onTestFinished(() => rm(other, { recursive: true }));
  const { trash, save, worktree, folder } = await setUp(other);
  expect((await stat(worktree)).dev).not.toBe((await stat(other)).dev);
  const { id } = await save();
  expect(await readdir(worktree)).toEqual(['notes']);
  await trash.restore(id, join(folder, 'restored'));
  expect(await readFile(join(folder, 'restored', 'link', 'plan.md'), 'utf8')).toBe('the plan');
  expect((await stat(join(folder, 'restored', '.env'))).mode & 0o777).toBe(0o600);
  expect(await readdir(join(other, 'trash'))).toEqual([]);
});

it('restores into the worktree of the stage if there is one again, else into a new folder', async () => {
  const { trash, save, store, stage, path, dataDir } = await setUp();
  const first = await save();
  expect((await trash.restore(first.id)).folder).toBe(join(dataDir, 'restored', `STAGE-1-${first.id.slice(0, 8)}`));
  const { folder: again } = await setUp();
  await store.transact((tx) => tx.stages.insert(stage));
  await mkdir(path);
  const second = await trash.save(join(again, 'worktree'), FILES, { project: sampleProject(), stage, by: null });
  expect(await trash.list()).toMatchObject([{ id: second.id, worktree: path }]);
  expect((await trash.restore(second.id)).folder).toBe(path);
  expect(await readFile(join(path, '.env'), 'utf8')).toBe('KEY=1');
});

it('refuses to overwrite a file, and restores nothing then', async () => {
  const { trash, save, folder } = await setUp();
  const { id } = await save();
  const target = join(folder, 'restored');
  await mkdir(target);
  await writeFile(join(target, '.env'), 'KEY=newer');
  const refusal = { code: 'would_overwrite', message: expect.stringContaining('.env') };
  await expect(trash.restore(id, target)).rejects.toMatchObject(refusal);
  expect(await readdir(target)).toEqual(['.env']);
  expect(await readFile(join(target, '.env'), 'utf8')).toBe('KEY=newer');
  expect(await trash.list()).toHaveLength(1);
});

it.each([
  ['a link to another folder', (target: string, folder: string) => symlink(folder, join(target, 'notes'))],
  ['a file', (target: string) => writeFile(join(target, 'notes'), 'a file')],
])('does not restore through %s', async (_what, make) => {
  const { trash, save, folder } = await setUp();
  const { id } = await save();
  const target = join(folder, 'restored');
  await mkdir(target);
  await make(target, folder);
  await expect(trash.restore(id, target)).rejects.toMatchObject({ code: 'would_overwrite' });
  await gone(join(folder, 'plan.md'));
  await gone(join(target, '.env'));
});

it('refuses a folder that is not an absolute path', async () => {
  const { trash, save } = await setUp();
  const { id } = await save();
  await expect(trash.restore(id, 'here')).rejects.toMatchObject({ code: 'bad_request' });
});

it('lists and restores the files that were moved before a move failed', async () => {
  const { trash, save, worktree, folder } = await setUp();
  await rm(join(worktree, '.env'));
  await expect(save()).rejects.toThrow('ENOENT');
  const [entry] = await trash.list();
  await trash.restore(entry?.id ?? '', join(folder, 'restored'));
  expect(await readdir(join(folder, 'restored'))).toEqual(['notes']);
});

it('forgets entries older than an instant, counting the time that Callboard ran', async () => {
  const { trash, save, dataDir } = await setUp();
  const { id, at } = await save();
  await trash.forgetOlder(at);
  expect(await trash.list()).toHaveLength(1);
  await trash.forgetOlder(new Date(Date.parse(at) + 3_600_000).toISOString());
  expect(await trash.list()).toEqual([]);
  await gone(join(dataDir, 'trash', id));
});

it('ignores a manifest with a path that leads out of its folder', async () => {
  const { trash, save, dataDir, folder } = await setUp();
  const { id } = await save();
  const file = join(dataDir, 'trash', id, 'entry.json');
  await writeFile(file, (await readFile(file, 'utf8')).replace('notes/plan.md', '../../../secret'));
  expect(await trash.list()).toEqual([]);
  await expect(trash.restore(id, join(folder, 'x'))).rejects.toMatchObject({ code: 'unknown_trash' });
  expect(dirname(file)).toContain(id);
});
