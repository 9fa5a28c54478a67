import { lstatSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runAndRead } from '../../../../../test-support/run-and-read.ts';
import { createGitLab, type GitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const STAGE = stageId('STAGE-1');

async function setUp(environment = ({ env }: GitLab): Record<string, string> => env) {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  await lab.commit(path, '.gitignore', 'ignored/\n*.env\n');
  await lab.commit(path, 'old.txt', 'old\n');
  const project = sampleProject({ path });
  const create = () => createWorktrees({ dataDir: join(lab.folder, 'data'), env: environment(lab) });
  const worktrees = create();
  const worktree = await worktrees.ensure(project, STAGE, null);
  const write = (file: string, text: string) => writeFile(join(worktree.path, file), text);
  const inTree = (...args: string[]) => lab.git(worktree.path, ...args);
  let turns = 0;
  const saveChanges = () => {
    const turn = { stageId: STAGE, name: `turn-${++turns}` };
    return worktrees.saveChanges(project, worktree, turn, new AbortController().signal);
  };
  return { lab, project, create, worktrees, worktree, write, inTree, saveChanges };
}

/** What happens in a worktree between two turns. */
interface Act {
  what: keyof typeof ACTS;
  file: string;
  text: string;
}

type Location = Pick<GitLab, 'git'> & { path: string };

const ACTS = {
  async write({ path }: Location, file: string, text: string) {
    await writeFile(join(path, file), text);
  },
  async makeExecutable({ path }: Location, file: string) {
    await chmod(join(path, file), 0o755);
  },
  async link({ path }: Location, file: string) {
    await rm(join(path, file), { force: true });
    await symlink('README.md', join(path, file));
  },
  async remove({ path }: Location, file: string) {
    await rm(join(path, file), { force: true });
  },
  stage: ({ git, path }: Location, file: string) => git(path, 'add', '--', file),
  unstage: ({ git, path }: Location, file: string) => git(path, 'rm', '--quiet', '--cached', '--', file),
  intend: ({ git, path }: Location, file: string) => git(path, 'add', '--intent-to-add', '--', file),
  assumeUnchanged: ({ git, path }: Location, file: string) => git(path, 'update-index', '--assume-unchanged', file),
  skip: ({ git, path }: Location, file: string) => git(path, 'update-index', '--skip-worktree', file),
  commit: ({ git, path }: Location) => git(path, 'commit', '--quiet', '-m', 'Work'),
  stash: ({ git, path }: Location) => git(path, 'stash', '--quiet'),
  detach: ({ git, path }: Location) => git(path, 'checkout', '--quiet', '--detach'),
};

const anAct: fc.Arbitrary<Act> = fc.record({
  what: fc.constantFrom(...(Object.keys(ACTS) as (keyof typeof ACTS)[])),
  file: fc.constantFrom('README.md', 'old.txt', 'new file.txt', 'deep/a.txt', 'my.env', 'ignored/b.txt'),
  text: fc.constantFrom('old\n', 'new\n', '', 'old\r\n'),
});

/** Returns the tree that plain git writes with a copy of the index, in which no file that is there is skipped. */
async function treeByGit({ folder, env }: GitLab, path: string): Promise<string> {
  const index = join(folder, 'reference-index');
  const git = async (...args: string[]) =>
    runAndRead('git', args, { cwd: path, env: { ...env, GIT_INDEX_FILE: index } });
  const own = await runAndRead('git', ['rev-parse', '--git-path', 'index'], { cwd: path, env });
  await runAndRead('cp', ['--preserve=timestamps', resolve(path, own), index]);
  const tracked = (await git('ls-files', '-z')).split('\0').filter((name) => name !== '');
  const there = tracked.filter((name) => lstatSync(join(path, name), { throwIfNoEntry: false }) !== undefined);
  if (tracked.length > 0) await git('update-index', '--no-assume-unchanged', '--', ...tracked);
  if (there.length > 0) await git('update-index', '--no-skip-worktree', '--', ...there);
  await git('add', '--all');
  return git('write-tree');
}

it('keeps the tree that git add would write, shows what a diff shows, and stages nothing', async () => {
  const { lab, project, worktrees, worktree, saveChanges } = await setUp();
  const { git } = lab;
  const { path } = worktree;
  const begin = await git(path, 'rev-parse', 'HEAD');
  const property = fc.asyncProperty(fc.array(anAct, { minLength: 1, maxLength: 6 }), async (acts) => {
    await git(path, 'symbolic-ref', 'HEAD', `refs/heads/${worktree.branch}`);
    await git(path, 'update-ref', 'HEAD', begin);
    await git(path, 'read-tree', begin); // without flags
    await git(path, 'checkout-index', '--all', '--force');
    await git(path, 'clean', '--quiet', '-ffdx');
    for (const folder of ['deep', 'ignored']) await mkdir(join(path, folder));
    for (const { what, file, text } of acts) await ACTS[what]({ git, path }, file, text).catch(() => undefined);
    const staged = await git(path, 'ls-files', '-v', '--stage');
    const { commit, diff } = await saveChanges();
    expect(await git(path, 'ls-files', '-v', '--stage')).toBe(staged);
    expect(await git(path, 'rev-parse', `${commit}^{tree}`)).toBe(await treeByGit(lab, path));
    expect(diff).toEqual(await worktrees.diff(project, worktree));
  });
  await fc.assert(property, { numRuns: 20 });
});

it('shows what it leaves out, and stores nothing of it', async () => {
  const { project, worktrees, worktree, write, inTree, saveChanges } = await setUp();
  await write('huge.bin', '');
  await truncate(join(worktree.path, 'huge.bin'), 50 * 1024 * 1024 + 1);
  const id = await inTree('hash-object', 'huge.bin');
  const { commit, diff } = await saveChanges();
  expect(diff.files.map(({ path }) => path)).toEqual(['huge.bin']);
  expect(await inTree('ls-tree', '--name-only', commit)).not.toContain('huge.bin');
  await expect(inTree('cat-file', '-e', id)).rejects.toThrow();
  // Beside something else that is left out, too.
  await inTree('init', '--quiet', 'inner');
  await inTree('-C', 'inner', 'commit', '--quiet', '--allow-empty', '-m', 'Inner');
  expect((await saveChanges()).diff.files.map(({ path }) => path)).toEqual(['inner', 'huge.bin']);
  await expect(inTree('cat-file', '-e', id)).rejects.toThrow();
  expect((await worktrees.diff(project, worktree)).files.map(({ path }) => path)).toEqual(['huge.bin', 'inner']);
});

it('keeps files where git knows no name for the user', async () => {
  const { worktrees, worktree, write, inTree } = await setUp(({ env: { PATH = '', HOME = '' } }) => ({ PATH, HOME }));
  await inTree('config', 'user.useConfigOnly', 'true');
  await write('new.txt', 'new\n');
  const { commit } = await worktrees.snapshotTurn(worktree, { stageId: STAGE, name: 'turn' });
  expect(await inTree('log', '-1', '--format=%an <%ae>', commit)).toBe('Callboard <callboard@localhost>');
});

it('asks git seven times after a turn that wrote files, five times after one that did not, and again what was staged', async () => {
  const traceOf = ({ folder }: GitLab) => join(folder, 'trace');
  const { lab, worktree, write, inTree, saveChanges } = await setUp((its) => ({
    ...its.env,
    GIT_TRACE2: traceOf(its),
  }));
  async function commandsOf(text: string | null): Promise<string[]> {
    if (text !== null) await write('new.txt', text);
    await rm(traceOf(lab), { force: true });
    await saveChanges();
    return [...(await readFile(traceOf(lab), 'utf8')).matchAll(/ cmd_name +(\S+)/g)].map(([, name = '']) => name);
  }
  await commandsOf('first'); // learns what stays
  const check = ['rev-parse', 'status'];
  const save = ['commit-tree', 'update-ref'];
  expect(await commandsOf('second')).toEqual([...check, 'add', 'write-tree', ...save, 'diff-tree']);
  await rm(join(worktree.path, 'new.txt'));
  expect(await commandsOf(null)).toEqual([...check, 'write-tree', ...save]);
  await inTree('update-index', '--skip-worktree', 'README.md');
  expect(await commandsOf(null)).toContain('ls-files');
});

it('keeps the newest names of a stage', async () => {
  const { lab, create, worktrees, worktree, inTree } = await setUp();
  const names = async () => (await inTree('for-each-ref', '--format=%(refname)', 'refs/callboard/turns/')).split('\n');
  const { tree } = await worktrees.snapshotTurn(worktree, { stageId: STAGE, name: 'first' });
  const env = { ...lab.env, GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' };
  const before = await runAndRead('git', ['commit-tree', tree, '-m', 'Before'], { cwd: worktree.path, env });
  const [first = ''] = await names();
  const old = Array.from({ length: 160 }, (_, n) => `create ${first.replace('first', `old-${n}`)} ${before}\n`);
  await writeFile(join(lab.folder, 'refs'), old.join(''));
  await inTree('-c', `alias.many=!git update-ref --stdin <'${join(lab.folder, 'refs')}'`, 'many');
  const restarted = create();
  for (const name of ['second', 'third']) await restarted.snapshotTurn(worktree, { stageId: STAGE, name });
  const left = await names();
  expect(left).toHaveLength(150);
  for (const name of ['first', 'second', 'third']) expect(left.some((ref) => ref.endsWith(`-${name}`))).toBe(true);
});
