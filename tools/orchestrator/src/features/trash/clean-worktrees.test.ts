import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { createGitLab } from '../../../test/support/repository.ts';
import { machineId } from '../../../test/support/test-machines.ts';
import { openTestStore, sampleProject, sampleStage, silent, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { createWorktreeCleaning, createWorktreeSizes } from './clean-worktrees.ts';
import { createTrash } from './trash.ts';

const STAGE = stageId('STAGE-1');
const DONE = '2026-01-02T00:00:00.000Z';

/** A done stage whose worktree has committed, staged, changed, new, ignored and large files. */
async function setUp() {
  const lab = await createGitLab();
  const checkout = await lab.repository('shop');
  await lab.commit(checkout, '.gitignore', 'node_modules/\n*.env\n');
  const dataDir = join(lab.folder, 'data');
  const { store, platform } = await openTestStore();
  const project = sampleProject({ path: checkout });
  await store.transact((tx) => tx.projects.save(project));
  const worktrees = createWorktrees({ dataDir, env: lab.env });
  const worktree = await worktrees.ensure(project, STAGE, null);
  const stage = sampleStage({ id: STAGE, title: 'Login', worktree, completedAt: DONE });
  await store.transact((tx) => tx.stages.insert(stage));
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(worktree.path, file)), { recursive: true });
    await writeFile(join(worktree.path, file), text);
  };
  const cleaned: string[] = [];
  const sizes = createWorktreeSizes({ env: lab.env, now: platform.now, uptimeMs: platform.uptimeMs });
  const trash = createTrash({ store, platform, log: silent, here: null, dataDir, worktrees });
  const deps = {
    store,
    platform,
    log: silent,
    here: null,
    dataDir,
    trash,
    worktrees,
    sizes,
    cleanUp: async (id: string) => void cleaned.push(id),
  };
  const cleaning = createWorktreeCleaning(deps);
  const order = { projectId: project.id, name: 'STAGE-1', buildFolders: 'delete', by: 'Ada' } as const;
  const refs = async () =>
    (await lab.git(checkout, 'for-each-ref', '--format=%(refname)', 'refs/callboard')).split('\n');
  const status = () => lab.git(worktree.path, 'status', '--porcelain', '--ignored');
  const folders = async () => (await readdir(dirname(worktree.path))).toSorted();
  return {
    ...lab,
    checkout,
    dataDir,
    store,
    project,
    stage,
    worktree,
    worktrees,
    write,
    cleaned,
    parts: deps,
    sizes,
    trash,
    cleaning,
    order,
    refs,
    status,
    folders,
  };
}

type Scene = Awaited<ReturnType<typeof setUp>>;

async function work({ worktree, write, commit, git }: Scene): Promise<void> {
  await commit(worktree.path, 'committed.txt', 'committed\n');
  await write('README.md', '# Changed\n');
  await write('staged.txt', 'staged\n');
  await git(worktree.path, 'add', 'staged.txt');
  await write('new.txt', 'new\n');
  await write('my.env', 'KEY=1');
  await write('node_modules/pad/index.js', 'x');
  await write('inner/a.txt', 'inner');
  await git(join(worktree.path, 'inner'), 'init', '--quiet');
  await write('huge.bin', '');
  await truncate(join(worktree.path, 'huge.bin'), 51 * 1024 * 1024);
}

const WORK_STATUS = ['!! my.env', '?? huge.bin', '?? inner/', '?? new.txt', 'A  staged.txt', 'M README.md'];

it('says beforehand what a clean-up keeps, where, and what it deletes', async () => {
  const scene = await setUp();
  await work(scene);
  const { cleaning, project, worktree } = scene;
  const preview = await cleaning.preview(project.id, 'STAGE-1');
  expect(preview).toMatchObject({ path: worktree.path, left: null, fileCount: 3 });
  expect(preview.work).toEqual({ branch: worktree.branch, uncommitted: 5, unmerged: 1, earlier: 0 });
  expect(preview.files.map(({ path }) => path).toSorted()).toEqual(['huge.bin', 'inner', 'my.env']);
  expect(preview.buildFolders).toEqual([{ path: 'node_modules', bytes: 1 }]);
});

it('takes a worktree away and brings all of it back, staged files included', async () => {
  const scene = await setUp();
  await work(scene);
  const { cleaning, order, worktree, trash, refs, status, git, checkout, cleaned, folders, store } = scene;
  const { kept, deleted } = await cleaning.clean(order);
  expect(deleted.map(({ path }) => path)).toEqual(['node_modules']);
  expect(cleaned).toEqual(['STAGE-1']);
  expect(kept).toMatchObject({ stageId: 'STAGE-1', by: 'Ada', fileCount: 3, work: { uncommitted: 5, unmerged: 1 } });
  expect(await refs()).toEqual([kept?.work?.ref]);
  await until('the folder is deleted', async () => (await folders()).length === 0);
  expect(await git(checkout, 'worktree', 'list')).not.toContain('STAGE-1');
  expect(await git(checkout, 'branch', '--list', worktree.branch)).not.toBe('');
  expect((await store.read.stages.find(STAGE))?.worktree).toMatchObject({ isCleanedUp: true });
  const restored = await trash.restore(kept?.id ?? '');
  expect(restored).toMatchObject({ folder: worktree.path, branch: worktree.branch, fileCount: 3 });
  expect((await store.read.stages.find(STAGE))?.worktree).toEqual(worktree);
  expect((await status()).split('\n').toSorted()).toEqual(WORK_STATUS);
  expect(await readFile(join(worktree.path, 'inner/a.txt'), 'utf8')).toBe('inner');
  expect([await refs(), await trash.list()]).toEqual([[''], []]);
});

it('restores into a worktree of its own when the branch has moved, or somebody works in the old one', async () => {
  const scene = await setUp();
  const { cleaning, order, worktree, trash, write, git, commit, worktrees, project, dataDir, store } = scene;
  await write('new.txt', 'new\n');
  const { kept } = await cleaning.clean(order);
  await worktrees.ensure(project, STAGE, (await store.read.stages.find(STAGE))?.worktree ?? null);
  await commit(worktree.path, 'later.txt', 'later\n');
  const { folder, branch } = await trash.restore(kept?.id ?? '');
  expect(dirname(folder)).toBe(join(dataDir, 'restored'));
  expect(await git(folder, 'status', '--porcelain')).toBe('?? new.txt');
  expect(await git(folder, 'symbolic-ref', '--short', 'HEAD')).toBe(branch);
  expect(await git(worktree.path, 'status', '--porcelain')).toBe('');
});

it('keeps nothing of a worktree whose work is merged', async () => {
  const { cleaning, order, trash, refs, folders } = await setUp();
  expect(await cleaning.clean(order)).toEqual({ kept: null, deleted: [] });
  expect([await trash.list(), await refs()]).toEqual([[], ['']]);
  await until('the folder is deleted', async () => (await folders()).length === 0);
});

it('leaves a worktree that somebody may need, and says why', async () => {
  const scene = await setUp();
  const { cleaning, order, store, stage, git, checkout, worktree, repository } = scene;
  await store.transact((tx) => tx.stages.update({ ...stage, completedAt: null }));
  await expect(cleaning.clean(order)).rejects.toMatchObject({ code: 'worktree_stays', message: /STAGE-1 is not done/ });
  await store.transact((tx) => tx.stages.update(stage));
  await git(checkout, 'worktree', 'lock', worktree.path);
  await expect(cleaning.clean(order)).rejects.toMatchObject({ code: 'worktree_stays', message: /it is locked/ });
  await git(checkout, 'worktree', 'unlock', worktree.path);
  const library = await repository('library');
  await git(worktree.path, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib');
  await writeFile(join(worktree.path, 'lib/new.txt'), 'new');
  await expect(cleaning.clean(order)).rejects.toMatchObject({ message: /the submodule lib/ });
  expect((await cleaning.preview(order.projectId, 'STAGE-1')).left).toContain('the submodule lib');
  await expect(cleaning.clean({ ...order, name: 'STAGE-9' })).rejects.toMatchObject({ code: 'unknown_worktree' });
});

it('lists worktrees with their sizes, also those whose stage was deleted', async () => {
  const { cleaning, project, store, worktree, write, sizes } = await setUp();
  await write('a.bin', 'x'.repeat(100_000));
  expect((await cleaning.list(project.id)).isMeasuring).toBe(true);
  await until('it is measured', async () => !(await cleaning.list(project.id)).isMeasuring);
  await store.transact((tx) => tx.stages.remove(STAGE));
  const [one] = (await cleaning.list(project.id)).worktrees;
  expect(one).toMatchObject({ name: 'STAGE-1', path: worktree.path, stageId: null, stays: null });
  expect(one?.bytes).toBeGreaterThanOrEqual(100_000);
  expect(one?.measuredAt).not.toBeNull();
  await sizes.stop();
});

it('keeps work once when two clean up at the same time', async () => {
  const { cleaning, order, write, trash, refs } = await setUp();
  await write('new.txt', 'new\n');
  const [one, other] = await Promise.allSettled([cleaning.clean(order), cleaning.clean(order)]);
  expect([one.status, other.status]).toEqual(['fulfilled', 'rejected']);
  expect(other).toMatchObject({ reason: { code: 'unknown_worktree' } });
  expect([(await trash.list()).length, (await refs()).length]).toEqual([1, 1]);
});

it('forgets kept work with its entry', async () => {
  const { cleaning, order, write, trash, refs } = await setUp();
  await write('new.txt', 'new\n');
  const { kept } = await cleaning.clean(order);
  await trash.forgetOlder(new Date(Date.parse(kept?.at ?? '') + 3_600_000).toISOString());
  expect([await trash.list(), await refs()]).toEqual([[], ['']]);
});

/** The steps that leave the process, in order. The folder is moved aside before `takeIn`. */
const DEATHS = [
  ...[['after', 'create'] as const, ['after', 'keep'] as const, ['after', 'save'] as const],
  ...[['before', 'takeIn'] as const, ['after', 'takeIn'] as const, ['after', 'forget'] as const],
  ['after', 'save again'] as const,
];

/** Runs a clean-up in a process that dies before or after a step. */
async function cleanAndDie({ parts, order }: Scene, [when, step]: readonly ['before' | 'after', string]) {
  let isDead = false;
  const seen = new Map<string, number>();
  const mortal =
    <A extends unknown[], R>(name: string, does: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const times = (seen.get(name) ?? 0) + 1;
      seen.set(name, times);
      const isIt = step === (times === 1 ? name : `${name} again`);
      if (isDead || (isIt && when === 'before')) {
        isDead = true;
        throw new Error('killed');
      }
      const result = await does(...args);
      if (!isIt) return result;
      isDead = true;
      throw new Error('killed');
    };
  const { entries } = parts.trash;
  const trash = {
    ...parts.trash,
    entries: {
      ...entries,
      create: mortal('create', entries.create),
      save: mortal('save', entries.save),
      remove: mortal('remove', entries.remove),
      takeIn: mortal('takeIn', entries.takeIn),
    },
  };
  const { worktrees } = parts;
  const git = {
    ...worktrees,
    save: mortal('keep', worktrees.save),
    dropSaved: mortal('dropKept', worktrees.dropSaved),
    forget: mortal('forget', worktrees.forget),
  };
  const dying = createWorktreeCleaning({ ...parts, trash, worktrees: git });
  await expect(dying.clean(order)).rejects.toThrow();
}

describe('a clean-up that is killed', () => {
  it('keeps the commit even if somebody deletes the folder before the next start', async () => {
    const scene = await setUp();
    await work(scene);
    await cleanAndDie(scene, ['after', 'keep']);
    await rm(scene.worktree.path, { recursive: true });
    await createWorktreeCleaning(scene.parts).settle();
    const [entry] = await scene.trash.list();
    expect(await scene.refs()).toEqual([entry?.work?.ref]);
  });

  it.each(DEATHS)('%s "%s" loses nothing and doubles nothing', async (...death) => {
    const scene = await setUp();
    await work(scene);
    const { parts, trash, worktree, refs, status, folders, git, checkout } = scene;
    const before = await status();
    await cleanAndDie(scene, death);
    await createWorktreeCleaning(parts).settle();
    await until('nothing is left aside', async () => !(await folders()).some((name) => name.startsWith('.')));
    const entries = await trash.list();
    if ((await folders()).length > 0) expect([await status(), entries, await refs()]).toEqual([before, [], ['']]);
    else {
      expect(await git(checkout, 'worktree', 'list')).not.toContain('STAGE-1');
      expect(entries).toHaveLength(1);
      expect(await refs()).toEqual([entries[0]?.work?.ref]);
      await trash.restore(entries[0]?.id ?? '');
      expect(await status()).toBe(before.replace('\n!! node_modules/', ''));
      await rm(worktree.path, { recursive: true });
    }
  });
});

it.each(DEATHS.slice(3, -1))(
  'brings a former worktree to its end that failed %s "%s", without a restart',
  async (...fails) => {
    const scene = await setUp();
    await work(scene);
    const { cleaning, trash, stage, project, worktree, git, checkout, folders } = scene;
    await cleanAndDie(scene, fails);
    const orphaned = {
      machineId: machineId(1),
      stageId: STAGE,
      stageTitle: stage.title,
      projectId: project.id,
      projectName: project.name,
      repository: checkout,
      worktree,
      isRecorded: true,
      isKept: true,
      isTaken: false,
      told: null,
    };
    expect(await cleaning.cleanOrphaned(orphaned)).toEqual({ isThere: false, kept: null });
    expect(await trash.list()).toMatchObject([{ stageId: STAGE, work: { uncommitted: 5, unmerged: 1 } }]);
    expect(await git(checkout, 'worktree', 'list')).not.toContain('STAGE-1');
    await until('nothing is left', async () => (await folders()).length === 0);
  },
);

it('takes no worktree for that of a stage which another machine has at the same path', async () => {
  const { store, parts, project, stage } = await setUp();
  const [here, there] = [machineId(1), machineId(2)];
  const cleaning = createWorktreeCleaning({ ...parts, here });
  await store.transact(async (tx) => {
    await tx.stages.update({ ...stage, completedAt: null });
    await tx.stages.claim(STAGE, here);
  });
  expect((await cleaning.list(project.id)).worktrees).toMatchObject([
    { stageId: STAGE, stays: 'STAGE-1 is not done.' },
  ]);
  await store.transact(async (tx) => {
    await tx.stages.releaseOf(here);
    await tx.stages.claim(STAGE, there);
  });
  expect((await cleaning.list(project.id)).worktrees).toMatchObject([{ stageId: null, stays: null }]);
});
