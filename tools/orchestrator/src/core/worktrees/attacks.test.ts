import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countOf } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { ALL, variants } from '../../../../../test-support/variants.ts';
import { ALL_HOOKS, type GitScene, putHooks, setUpGitScene } from '../../../test/support/git-scene.ts';
import { stageId } from '../../../test/support/test-store.ts';
import type { Worktrees } from './worktrees.ts';

/** Nothing of these worktrees is ignored by git. */
const ORDER = { buildFolders: 'keep', mayBegin: async () => undefined, save: async () => null } as const;

const never = new AbortController().signal;
const DATA = 'one\n2\nthree\nfour\n5\n';

/** The agent commits its work, with its own git; the filters of the attack do not count there. */
async function commitWork({ path, worktree, git, forget }: GitScene): Promise<void> {
  const attributes = join(path, '.git', 'info', 'attributes');
  await rename(attributes, `${attributes}.away`).catch(() => undefined);
  const quiet = ['-c', 'core.fsmonitor=', '-c', 'core.hooksPath=/dev/null', '-c', 'commit.gpgSign=false'];
  await git(worktree.path, ...quiet, 'add', '--all');
  await git(worktree.path, ...quiet, 'commit', '--quiet', '-m', 'Work');
  await rename(`${attributes}.away`, attributes).catch(() => undefined);
  await forget();
}

async function work({ worktree }: GitScene): Promise<void> {
  await writeFile(join(worktree.path, 'new.txt'), 'new\n');
  await writeFile(join(worktree.path, 'data.txt'), 'one\n2\nthree\nfour\nfive\n');
}

/** All that Callboard does with git, in one life of a stage; what the person sees at the end has to be right. */
async function liveThrough(scene: GitScene): Promise<string> {
  const { worktrees, project, worktree, path, ran } = scene;
  await work(scene);
  const diff = await worktrees.diff(project, worktree);
  expect(diff.files.map((file) => `${file.status} ${file.path}`)).toEqual(['modified data.txt', 'added new.txt']);
  expect(countOf(await worktrees.diff(project, worktree, {}, never))).toEqual({ files: 2, additions: 2, deletions: 1 });
  expect(await worktrees.suggestFiles(worktree, 'new')).toEqual(['new.txt']);
  await expect(worktrees.merge(project, worktree)).rejects.toMatchObject({ code: 'uncommitted_work' });
  const before = await ran();
  await commitWork(scene);
  await worktrees.ensure(project, stageId('STAGE-2'), null);
  const asksForSignatures = (await scene.git(path, 'config', '--default', '', '--get', 'commit.gpgSign')) === 'true';
  if (asksForSignatures) {
    // A merge without the signature that the repository asks for would be no way out either.
    const refused = { code: 'merge_refused', message: expect.stringContaining('signed commits') };
    await expect(worktrees.merge(project, worktree)).rejects.toMatchObject(refused);
    await scene.git(path, 'config', '--unset-all', 'commit.gpgSign');
  }
  await worktrees.requireMergeable(project, worktree);
  await worktrees.merge(project, worktree);
  expect(await readFile(join(path, 'new.txt'), 'utf8')).toBe('new\n');
  expect(await readFile(join(path, 'data.txt'), 'utf8')).toBe(DATA);
  if (asksForSignatures) await scene.git(path, 'config', 'commit.gpgSign', 'true');
  expect(await worktrees.remove(project, worktree, ORDER)).toMatchObject({ left: null });
  return before + (await ran());
}

/** The same calls, whatever comes of them, where a person has agreed to what the agent has set. */
async function callAll(scene: GitScene, worktrees: Worktrees): Promise<string> {
  const { project, worktree, ran } = scene;
  await work(scene);
  await worktrees.diff(project, worktree).catch(() => undefined);
  const before = await ran();
  await commitWork(scene);
  await worktrees.ensure(project, stageId('STAGE-2'), null).catch(() => undefined);
  await worktrees.merge(project, worktree).catch(() => undefined);
  return before + (await ran());
}

type Act = (scene: GitScene) => Promise<unknown>;
const set =
  (key: string, value: (canary: string) => string = (canary) => canary): Act =>
  ({ git, worktree, canary }) =>
    git(worktree.path, 'config', key, value(canary));
const attributes =
  (text: string): Act =>
  async ({ path }) => {
    await mkdir(join(path, '.git', 'info'), { recursive: true });
    await appendFile(join(path, '.git', 'info', 'attributes'), text);
  };
const includedFile: Act = ({ folder, canary }) => writeFile(join(folder, 'more'), `[core]\n\tfsmonitor = ${canary}\n`);

interface Attack {
  does: Act[];
  told: string[];
  /** False: our calls would not run it even if somebody had agreed to it. */
  runs?: false;
}

const ATTACKS: Record<string, Attack> = {
  'core.fsmonitor': { does: [set('core.fsmonitor')], told: ['core.fsmonitor'] },
  'core.hooksPath': {
    does: [
      ({ folder, canary }) => putHooks(join(folder, 'hooks'), ALL_HOOKS, canary),
      ({ git, path, folder }) => git(path, 'config', 'core.hooksPath', join(folder, 'hooks')),
    ],
    told: ['core.hookspath', 'post-checkout'],
  },
  'hooks in .git/hooks': {
    does: [({ path, canary }) => putHooks(join(path, '.git', 'hooks'), ALL_HOOKS, canary)],
    told: ['post-merge', 'post-checkout'],
  },
  'filters for what is read and written': {
    does: [set('filter.x.clean'), set('filter.x.smudge'), attributes('* filter=x\n')],
    told: ['filter.x.clean', 'filter.x.smudge'],
  },
  'the process of a filter': {
    does: [set('filter.x.process'), attributes('* filter=x\n')],
    told: ['filter.x.process'],
  },
  'a merge driver': { does: [set('merge.x.driver'), attributes('* merge=x\n')], told: ['merge.x.driver'] },
  'an external diff': { does: [set('diff.external')], told: ['diff.external'], runs: false },
  'a diff driver': {
    does: [set('diff.x.command'), set('diff.x.textconv'), attributes('* diff=x\n')],
    told: ['diff.x.command', 'diff.x.textconv'],
    runs: false,
  },
  'a program for signatures': {
    does: [set('commit.gpgSign', () => 'true'), set('gpg.program')],
    told: ['commit.gpgsign', 'gpg.program'],
  },
  'an included file': {
    does: [includedFile, ({ git, path, folder }) => git(path, 'config', 'include.path', join(folder, 'more'))],
    told: ['include.path', 'core.fsmonitor'],
  },
  'a file included on a condition': {
    does: [
      includedFile,
      ({ git, path, folder }) => git(path, 'config', `includeIf.gitdir:${path}/**.path`, join(folder, 'more')),
    ],
    told: ['core.fsmonitor'],
  },
  'the configuration of a worktree': {
    does: [
      ({ git, path }) => git(path, 'config', 'extensions.worktreeConfig', 'true'),
      ({ git, path, canary }) => git(path, 'config', '--worktree', 'core.fsmonitor', canary),
      ({ git, worktree, canary }) => git(worktree.path, 'config', '--worktree', 'core.fsmonitor', canary),
    ],
    told: ['core.fsmonitor'],
  },
  'a folder elsewhere by core.worktree': {
    does: [
      ({ folder }) => mkdir(join(folder, 'else')),
      ({ git, path, folder }) => git(path, 'config', 'core.worktree', join(folder, 'else')),
    ],
    told: [],
    runs: false,
  },
  'a key with an equals sign in it': {
    does: [set('filter.a=b.clean'), attributes('* filter=a=b\n')],
    told: ['filter.a=b.clean'],
  },
  'a program of the clearing up': { does: [set('gc.recentObjectsHook')], told: ['gc.recentobjectshook'], runs: false },
  'programs for remotes': {
    does: [
      ...[set('core.sshCommand'), set('core.askPass'), set('core.gitProxy'), set('remote.origin.uploadpack')],
      ...[set('credential.helper', (canary) => `!${canary}`), set('remote.evil.url', (canary) => `ext::${canary}`)],
      ...[set('protocol.ext.allow', () => 'always'), set('url.ext::sh.insteadOf', () => 'https://')],
      set('remote.evil.vcs', () => 'ext'),
    ],
    told: [
      ...['core.sshcommand', 'core.askpass', 'core.gitproxy', 'remote.origin.uploadpack', 'credential.helper'],
      ...['remote.evil.url', 'protocol.ext.allow', 'url.ext::sh.insteadof', 'remote.evil.vcs'],
    ],
    runs: false,
  },
  'a repository inside of this one': {
    does: [
      async ({ git, worktree, canary, commit }) => {
        const inner = join(worktree.path, 'inner');
        await mkdir(inner);
        await git(inner, 'init', '--quiet');
        await writeFile(join(inner, '.gitattributes'), '*.txt filter=x\n');
        await commit(inner, 'a.txt', '000\n');
        await git(worktree.path, 'add', 'inner');
        await git(worktree.path, 'commit', '--quiet', '-m', 'Inner');
        await git(inner, 'config', 'filter.x.clean', canary);
        await git(inner, 'config', 'core.fsmonitor', canary);
        await writeFile(join(inner, 'a.txt'), '111\n');
      },
    ],
    told: [],
    runs: false,
  },
};

const { 'a repository inside of this one': inner, ...OUTER } = ATTACKS;

/** Attacks that do not hide each other; `npm run test:all` tries each one alone, too. */
const TOGETHER = [
  [
    ...['core.fsmonitor', 'hooks in .git/hooks', 'filters for what is read and written', 'a merge driver'],
    ...['an external diff', 'a program of the clearing up', 'programs for remotes'],
  ],
  ['core.hooksPath', 'the process of a filter', 'a diff driver', 'an included file'],
  [
    ...['a key with an equals sign in it', 'a file included on a condition', 'a program for signatures'],
    'a folder elsewhere by core.worktree',
  ],
  ['the configuration of a worktree'],
];
const ALONE = Object.keys(OUTER).map((name) => [name]);

it('tries every attack together with others', () => {
  expect(TOGETHER.flat().toSorted()).toEqual(Object.keys(OUTER).toSorted());
});

describe('our calls of git run nothing of the agent’s and still work, with', () => {
  const all = [...TOGETHER, ...(ALL ? ALONE : [])].map((names) => [names.join(', '), names] as const);
  it.each(all)('%s', async (_names, names) => {
    const scene = await setUpGitScene();
    const attacks = names.flatMap((name) => ATTACKS[name] ?? []);
    for (const act of attacks.flatMap(({ does }) => does)) await act(scene);
    await scene.forget();
    expect(await liveThrough(scene)).toBe('');
    expect(scene.told()).toEqual(expect.arrayContaining(attacks.flatMap(({ told }) => told)));
  });

  it('a nested repository with its own configuration', async () => {
    const scene = await setUpGitScene();
    for (const act of inner?.does ?? []) await act(scene);
    const { worktrees, worktree, project, forget, ran } = scene;
    await forget();
    await work(scene);
    const { files } = await worktrees.diff(project, worktree);
    expect(files.map(({ path }) => path)).toEqual(['data.txt', 'inner', 'new.txt']);
    await worktrees.diff(project, worktree, {}, never);
    await expect(worktrees.merge(project, worktree)).rejects.toMatchObject({ code: 'uncommitted_work' });
    expect((await worktrees.remove(project, worktree, ORDER)).left).not.toBeNull();
    expect(await ran()).toBe('');
  });
});

describe('our calls of git run agreed programs:', () => {
  const running = Object.entries(OUTER).filter(([, { runs }]) => runs !== false);
  // A few show here that the attacks are real and that a person's yes counts; `npm run test:all` shows it of each.
  it.each(variants(running, 4))('%s', async (_name, { does }) => {
    const scene = await setUpGitScene();
    for (const act of does) await act(scene);
    await scene.forget();
    expect(await callAll(scene, scene.agreeing())).toContain(scene.canary);
  });
});

describe('a worktree whose .git file points elsewhere', () => {
  it('is refused with what stands there, until it is repaired', async () => {
    const { worktrees, worktree, git, folder, canary, ran, forget, project } = await setUpGitScene();
    const prepared = join(folder, 'prepared');
    await git(folder, 'clone', '--quiet', project.path, prepared);
    await git(prepared, 'config', 'core.fsmonitor', canary);
    await writeFile(join(worktree.path, '.git'), `gitdir: ${join(prepared, '.git')}\n`);
    await forget();
    await expect(worktrees.diff(project, worktree)).rejects.toMatchObject({
      code: 'worktree_replaced',
      message: expect.stringContaining(`points to ${join(prepared, '.git')}`),
    });
    expect((await worktrees.remove(project, worktree, ORDER)).left).not.toBeNull();
    expect(await ran()).toBe('');
    await git(project.path, '-c', 'core.fsmonitor=', 'worktree', 'repair', worktree.path);
    expect((await worktrees.diff(project, worktree)).files).toEqual([]);
  });

  it('cannot have another common directory either', async () => {
    const { worktrees, worktree, git, folder, canary, ran, forget, project } = await setUpGitScene();
    const prepared = join(folder, 'prepared');
    await git(folder, 'clone', '--quiet', project.path, prepared);
    await git(prepared, 'config', 'core.fsmonitor', canary);
    const admin = join(project.path, '.git', 'worktrees', 'STAGE-1');
    await writeFile(join(admin, 'commondir'), `${join(prepared, '.git')}\n`);
    await forget();
    await expect(worktrees.diff(project, worktree)).rejects.toMatchObject({ code: 'worktree_replaced' });
    expect(await ran()).toBe('');
  });
});

it('is led nowhere by variables that Callboard was started with', async () => {
  const { startedWith, project, worktree, git, folder } = await setUpGitScene();
  const other = join(folder, 'other');
  await git(folder, 'init', '--quiet', other);
  const worktrees = startedWith({
    GIT_DIR: join(other, '.git'),
    GIT_WORK_TREE: other,
    GIT_INDEX_FILE: join(other, 'index'),
    GIT_EXTERNAL_DIFF: 'false',
  });
  await appendFile(join(worktree.path, 'data.txt'), 'six\n');
  expect(countOf(await worktrees.diff(project, worktree, {}, never))).toEqual({ files: 1, additions: 1, deletions: 0 });
});

it('leaves nothing in the repository of what it overrides', async () => {
  const scene = await setUpGitScene();
  await set('core.fsmonitor')(scene);
  const config = join(scene.path, '.git', 'config');
  const before = await readFile(config, 'utf8');
  await liveThrough(scene);
  expect(await readFile(config, 'utf8')).toBe(before);
  await rm(config, { force: true });
});
