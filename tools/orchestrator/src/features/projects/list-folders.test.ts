import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { createGitLab } from '../../../test/support/repository.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { createProjects, listFolders } from './projects.ts';

async function setUp() {
  const home = await temporaryFolder();
  const dataDir = join(home, 'callboard-data');
  for (const folder of ['shop/.git', 'attic', '.cache', 'callboard-data', 'notes'])
    await mkdir(join(home, folder), { recursive: true });
  await writeFile(join(home, 'letter.txt'), 'dear');
  await writeFile(join(home, 'notes', '.git'), 'gitdir: elsewhere');
  await symlink(join(home, 'attic'), join(home, 'link'));
  await symlink(join(home, 'nowhere'), join(home, 'broken'));
  return { home, list: (path?: string) => listFolders({ home, dataDir }, path) };
}

it('lists folders from the home folder, repositories first, without files and hidden folders', async () => {
  const { home, list } = await setUp();
  const { folder, parent, folders, isCut } = await list();
  expect(folder).toMatchObject({ path: home, isRepository: false });
  expect(parent).toBe(join(home, '..'));
  expect(folders.map(({ name, isRepository }) => [name, isRepository])).toEqual([
    ['notes', true],
    ['shop', true],
    ['attic', false],
    ['link', false],
  ]);
  expect(isCut).toBe(false);
  expect((await list('~/shop')).folder).toMatchObject({ name: 'shop', isRepository: true });
});

it('begins with the repository in which Callboard was started, wherever that is, and lists it once', async () => {
  const { home } = await setUp();
  const elsewhere = await temporaryFolder();
  await mkdir(join(elsewhere, 'till', '.git'), { recursive: true });
  await mkdir(join(elsewhere, 'till', 'src'));
  const listed = async (startedIn: string, path?: string) => {
    const { folders, here } = await listFolders({ home, dataDir: '/nowhere', startedIn }, path);
    expect(here).toBe(here === null ? null : folders[0]?.path);
    return folders.map(({ name, path: at }) => (at === here ? `here: ${name}` : name));
  };
  expect((await listed(join(elsewhere, 'till', 'src')))[0]).toBe('here: till');
  expect((await listed(join(home, 'shop'))).slice(0, 2)).toEqual(['here: shop', 'notes']);
  expect(await listed(join(elsewhere, 'till'), home)).not.toContain('here: till');
  expect(await listed(elsewhere)).not.toContain('here: till');
});

it('finds the main checkout in which Callboard was started, unless that is the home folder or a project', async () => {
  const lab = await createGitLab();
  const till = await lab.repository('till');
  const worktree = join(lab.folder, 'till-2');
  await lab.git(till, 'worktree', 'add', '--quiet', worktree);
  await mkdir(join(till, 'src'));
  const { store } = await openTestStore();
  const worktrees = createWorktrees({ dataDir: lab.folder, env: lab.env });
  const startIn = (startedIn: string, home = '/nowhere') =>
    createProjects({ store, worktrees, home, dataDir: '/nowhere', startedIn });
  expect(await startIn(join(till, 'src')).repositoryHere()).toBe(till);
  expect(await startIn(till, till).repositoryHere()).toBeNull();
  expect(await startIn(worktree).repositoryHere()).toBeNull();
  expect(await startIn(lab.folder).repositoryHere()).toBeNull();
  await startIn(till).register({ path: till });
  expect(await startIn(till).repositoryHere()).toBeNull();
});

it('begins above a home folder that does not exist', async () => {
  const { home } = await setUp();
  const { folder } = await listFolders({ home: join(home, 'no', 'home'), dataDir: '/nowhere' });
  expect(folder.path).toBe(home);
});

it.each([
  ['~/nothing', 'unknown_folder', /no folder/],
  ['~/letter.txt', 'unknown_folder', /a file/],
  ['~ada/code', 'bad_request', /another account/],
  ['code', 'bad_request', /absolute path/],
  ['/proc/self', 'folder_unreadable', /not listed/],
  ['~/callboard-data', 'folder_unreadable', /not listed/],
])('refuses %s, and says why', async (path, code, message) => {
  const { list } = await setUp();
  await expect(list(path)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});
