import { access, appendFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SavedFile } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import type { SavedCommits } from './remove-worktree.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

/** A worktree with a commit, recorded with an uncommitted file. */
async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const dataDir = join(lab.folder, 'data');
  const worktrees = createWorktrees({ dataDir, env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, STAGE, null);
  await lab.commit(worktree.path, 'done.txt', 'done\n');
  await writeFile(join(worktree.path, 'open.txt'), 'open\n');
  await worktrees.snapshotTurn(worktree, { stageId: STAGE, name: 'one' });
  const trash = join(lab.folder, 'trash');
  const kept: { files: readonly SavedFile[]; commits: SavedCommits | null }[] = [];
  const remake = () =>
    worktrees.remake(project, STAGE, {
      recorded: worktree,
      async save(folder, files, commits) {
        kept.push({ files, commits });
        await mkdir(trash, { recursive: true });
        for (const { path: name } of files) await rename(join(folder, name), join(trash, name));
      },
    });
  return {
    ...lab,
    path,
    dataDir,
    worktrees,
    project,
    worktree,
    trash,
    kept,
    remake,
    away: join(lab.folder, 'away'),
    refusal: async () => {
      const refused = await worktrees.ensure(project, STAGE, worktree).catch((error: unknown) => error);
      expect(() => worktrees.requireInPlace(project, worktree)).toThrow();
      expect(refused).toMatchObject({ code: 'worktree_replaced', kind: 'operational' });
      return refused instanceof Error ? refused.message : '';
    },
    status: () => lab.git(worktree.path, 'status', '--porcelain'),
  };
}

type Scene = Awaited<ReturnType<typeof setUp>>;

/** What may happen to the folder, what is said of it, and what goes to the trash. */
const HAPPENS: readonly [string, (scene: Scene) => Promise<unknown>, RegExp, string[]][] = [
  ['is deleted', ({ worktree }) => rm(worktree.path, { recursive: true }), /There is no worktree at/, []],
  [
    'is deleted, and git has pruned its entry',
    ({ worktree, git, path }) => git(path, 'worktree', 'remove', '--force', worktree.path),
    /There is no worktree at/,
    [],
  ],
  [
    'is replaced by an empty folder',
    async ({ worktree, away }) => {
      await rename(worktree.path, away);
      await mkdir(worktree.path);
    },
    /is an empty folder/,
    [],
  ],
  [
    'is replaced by a link to the main checkout',
    async ({ worktree, away, path }) => {
      await rename(worktree.path, away);
      await symlink(path, worktree.path);
    },
    /is a symbolic link to .*shop.* The link goes; where it leads to stays/,
    [],
  ],
  [
    'is replaced by a file',
    async ({ worktree, away }) => {
      await rename(worktree.path, away);
      await writeFile(worktree.path, 'x');
    },
    /is a file/,
    ['STAGE-1'],
  ],
  [
    'is replaced by another repository',
    async ({ worktree, away, git, path }) => {
      await rename(worktree.path, away);
      await git(away, 'clone', '--quiet', path, worktree.path);
    },
    /is a repository of its own.* goes to the trash/,
    ['.git', 'README.md'],
  ],
];

describe('a worktree whose folder', () => {
  it.each(HAPPENS)('%s runs nothing, and is made again from its branch and the last record', async (...row) => {
    const [, happens, text, inTrash] = row;
    const scene = await setUp();
    const { worktree, remake, refusal, status, path, git, kept } = scene;
    await happens(scene);
    const main = await git(path, 'status', '--porcelain');
    const said = await refusal();
    expect(said).toMatch(text);
    expect(said).toContain('from callboard/STAGE-1 at');
    expect(said).toContain('with 1 uncommitted file (open.txt) as last recorded. Lost is');
    const made = await remake();
    expect(made).toMatchObject({ worktree, isNew: true });
    expect(made.told).toContain('Made again: from callboard/STAGE-1');
    expect(await readFile(join(worktree.path, 'done.txt'), 'utf8')).toBe('done\n');
    expect(await status()).toBe('?? open.txt');
    expect(kept.flatMap(({ files }) => files.map((file) => file.path)).toSorted()).toEqual(inTrash);
    expect(await git(path, 'status', '--porcelain')).toBe(main);
    expect(await remake()).toMatchObject({ worktree, told: null });
  });

  it('was away while git pruned its entry is connected again with all its files', async () => {
    const { worktree, away, git, path, refusal, remake, status, kept } = await setUp();
    await appendFile(join(worktree.path, 'open.txt'), 'since\n');
    await rename(worktree.path, away);
    await git(path, 'worktree', 'prune');
    await rename(away, worktree.path);
    await expect(git(path, 'worktree', 'repair', worktree.path)).rejects.toThrow(); // git's own advice
    expect(await refusal()).toMatch(/no longer has an entry .* all files of this folder as they are/);
    expect(await remake()).toMatchObject({ worktree, isNew: false });
    expect(await status()).toBe('?? open.txt');
    expect(await readFile(join(worktree.path, 'open.txt'), 'utf8')).toBe('open\nsince\n');
    expect(await readdir(dirname(worktree.path))).toEqual(['STAGE-1']);
    expect(kept).toEqual([]);
  });

  it('is a copy of the one that was made is used as it is, once somebody says so', async () => {
    const { worktree, away, refusal, remake, status } = await setUp();
    await rename(worktree.path, away);
    await cp(away, worktree.path, { recursive: true });
    expect(await refusal()).toMatch(/is not the folder that Callboard made, but has its .git file/);
    expect(await remake()).toMatchObject({ worktree, isNew: false });
    expect(await status()).toBe('?? open.txt');
  });

  it('has lost its .git file gets it again; a repository that was begun there goes to the trash', async () => {
    const { worktree, git, refusal, remake, status, kept, trash } = await setUp();
    await rm(join(worktree.path, '.git'));
    await git(worktree.path, 'init', '--quiet');
    expect(await refusal()).toMatch(/not to the repository of the stage.* nothing is lost/);
    expect(await remake()).toMatchObject({ worktree, isNew: false });
    expect(await status()).toBe('?? open.txt');
    expect(kept.map(({ files }) => files.map((file) => file.path))).toEqual([['.git']]);
    await access(join(trash, '.git', 'HEAD'));
  });
});

it('keeps the commits of a detached HEAD when its folder is gone and the worktree is made again', async () => {
  const { worktree, git, commit, remake, kept, path } = await setUp();
  await git(worktree.path, 'checkout', '--quiet', '--detach');
  await commit(worktree.path, 'detached.txt', 'x\n');
  const head = await git(worktree.path, 'rev-parse', 'HEAD');
  await rm(worktree.path, { recursive: true });
  expect((await remake()).told).toContain('Commits that no branch has are in the trash.');
  const ref = kept[0]?.commits?.ref ?? '';
  expect(await git(path, 'rev-parse', `${ref}^1`)).toBe(head);
});
