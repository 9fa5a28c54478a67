import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { MergeMethod } from '@callboard/contract';
import { identify, isAlive } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { until } from '../../../../test-support/until.ts';
import { pathExists } from '../../src/platform/files.ts';
import { agreeToHook } from '../support/agreed-hook.ts';
import { createKit } from '../support/kit.ts';

/** A stage in Review with uncommitted work, and an orchestrator that is killed while a hook of git holds git up. */
async function setUp() {
  const kit = await createKit({ isEmulated: true, where: 'apart' });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Done.' }] }));
  await kit.client.state(stageId, 'idle');
  const stage = async () => (await kit.client.command('get_stage', { stageId })).stage;
  const path = (await stage()).worktree?.path ?? '';
  await writeFile(join(path, 'a.txt'), 'work\n');
  const head = (folder = kit.repo) => git(folder, 'rev-parse', 'HEAD');
  const before = await head();
  const [armed, reached, resume] = ['armed', 'reached', 'go-on'].map((name) => join(kit.folder, name)) as [
    string,
    string,
    string,
  ];
  /** The hook stops git once it is armed, until `release`, and then does `then`. @param unless skips the hook */
  const pauseIn = (name: string, then = 'exit 0', unless = 'false') =>
    agreeToHook(
      kit,
      name,
      `${unless} && exit 0; test -e ${armed} || exit 0; rm -f ${armed}; touch ${reached}; while ! test -e ${resume}; do sleep 0.02; done; ${then}`,
    );
  const release = () => writeFile(resume, '');
  const complete = (merge: MergeMethod = 'merge') =>
    kit.client.command('complete_stage', { stageId, merge, commit: { message: 'Work' } });
  /** Main moves on, so that a squash and a rebase have something to merge. */
  const moveMain = async () => {
    await writeFile(join(kit.repo, 'main.txt'), 'main\n');
    await git(kit.repo, 'add', '.');
    await git(kit.repo, 'commit', '--quiet', '-m', 'Main goes on');
    return head();
  };
  /** Sends a command, and kills the orchestrator while the hook holds up its git. */
  const killDuring = async (command: () => Promise<unknown>) => {
    await writeFile(armed, '');
    void command().catch(() => undefined); // nobody is left to reply
    await until('the hook', () => pathExists(reached));
    await kit.kill();
  };
  const status = (folder = kit.repo) => git(folder, 'status', '--porcelain');
  return { kit, stageId, stage, path, head, before, pauseIn, release, complete, moveMain, killDuring, status };
}

it('has not merged if it is killed while it commits, and merges at the next attempt', async () => {
  const { kit, stage, path, head, before, pauseIn, release, complete, killDuring, status } = await setUp();
  await pauseIn('pre-commit');
  await killDuring(complete);
  await release();
  await until('the commit', async () => (await status(path)) === '');
  await kit.start();
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
  expect(await head()).toBe(before);
  expect((await complete()).stage).toMatchObject({ column: 'done', merged: { commits: 1, files: 1 } });
});

it('waits for the git of its predecessor, and says what that has merged', async () => {
  const { kit, stage, head, pauseIn, release, complete, killDuring } = await setUp();
  await pauseIn('pre-merge-commit');
  await killDuring(complete);
  await kit.start();
  // Nobody knows yet how it ends.
  expect(await stage()).toMatchObject({ merged: null });
  await release();
  await until('the merge', async () => (await stage()).merged !== null);
  expect(await stage()).toMatchObject({ column: 'done', merged: { commit: await head(), into: 'main', commits: 1 } });
});

it.each([
  ['its git refuses after the kill', 'exit 1'],
  ['its git is killed too', 'kill -9 $PPID; exit 1'],
])('has not merged if %s, and leaves the main checkout as it was', async (_how, then) => {
  const { kit, stage, head, before, pauseIn, release, complete, killDuring, status } = await setUp();
  await pauseIn('pre-merge-commit', then);
  await killDuring(complete);
  await release();
  await kit.start();
  await until('the end of the merge', async () => (await status()) === '');
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
  expect(await head()).toBe(before);
  await rm(join(kit.repo, '.git', 'hooks', 'pre-merge-commit'));
  expect((await complete()).stage).toMatchObject({ column: 'done', merged: { commits: 1 } });
});

it('has merged if it is killed after git has, before it stored that', async () => {
  const { kit, stage, head, before, pauseIn, release, complete, killDuring } = await setUp();
  await pauseIn('post-merge');
  await killDuring(complete);
  await release();
  await kit.start();
  await until('the merge', async () => (await stage()).merged !== null);
  expect(await stage()).toMatchObject({ column: 'done', merged: { commit: await head(), previous: before } });
});

it('has undone a merge if it is killed while git undoes it', async () => {
  const { kit, stageId, stage, head, before, pauseIn, release, complete, killDuring, status } = await setUp();
  await complete();
  await pauseIn('reference-transaction', 'exit 0', notAt(kit.repo, 'prepared')); // and not in a git that writes another ref
  await killDuring(() => kit.client.command('undo_completion', { stageId }));
  await kit.start();
  await release();
  await until('the undoing', async () => (await stage()).completedAt === null);
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
  expect([await head(), await status()]).toEqual([before, '']);
});

/** Skips the hook in the stage's worktree, and until the reference transaction of main is in this state. */
const notAt = (repo: string, state?: string): string =>
  state === undefined
    ? `test "$PWD" != ${repo}`
    : `{ test "$PWD" != ${repo} || test "$1" != ${state} || ! grep -q refs/heads/main; }`;

// Both bring their commits in with the same call of git.
it.each([
  ['squash', 'once the files are written', 'post-index-change', undefined],
  ['rebase', 'before main moves', 'reference-transaction', 'prepared'],
  ['squash', 'once main has moved', 'reference-transaction', 'committed'],
  ['rebase', 'at the very end', 'post-merge', undefined],
] as const)('says what the %s of its predecessor became if it is killed %s', async (method, _when, hook, state) => {
  const { kit, stage, head, moveMain, pauseIn, release, complete, killDuring, status } = await setUp();
  const previous = await moveMain();
  await pauseIn(hook, 'exit 0', notAt(kit.repo, state));
  await killDuring(() => complete(method));
  await kit.start('apart');
  expect(await stage()).toMatchObject({ merged: null });
  await release();
  await until('the merge', async () => (await stage()).merged !== null);
  expect(await stage()).toMatchObject({ column: 'done', merged: { method, commit: await head(), previous } });
  expect((await stage()).worktree?.merges).toHaveLength(1);
  expect([await git(kit.repo, 'log', '-1', '--format=%s'), await status()]).toEqual(['Work', '']);
  await kit.kill();
  await kit.start();
  expect((await stage()).worktree?.merges).toHaveLength(1);
});

it('has not squashed if its git is killed too, and does it at the next attempt', async () => {
  const method = 'squash';
  const { kit, stage, head, moveMain, pauseIn, release, complete, killDuring, status } = await setUp();
  const previous = await moveMain();
  await pauseIn('post-index-change', 'kill -9 $PPID; exit 1', notAt(kit.repo));
  await killDuring(() => complete(method));
  await release();
  await kit.start();
  await until('the end of the merge', async () => (await status()) === '');
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
  expect(await head()).toBe(previous);
  expect((await complete(method)).stage).toMatchObject({ column: 'done', merged: { method, commits: 1 } });
  expect((await kit.client.command('undo_completion', { stageId: (await stage()).id })).stage.merged).toBeNull();
  expect([await head(), await status()]).toEqual([previous, '']);
});

it('has undone a rebase if it is killed while git undoes it', async () => {
  const { kit, stageId, stage, head, moveMain, pauseIn, release, complete, killDuring, status } = await setUp();
  const previous = await moveMain();
  await complete('rebase');
  await pauseIn('reference-transaction', 'exit 0', notAt(kit.repo, 'prepared')); // and not in a git that writes another ref
  await killDuring(() => kit.client.command('undo_completion', { stageId }));
  await kit.start();
  await release();
  await until('the undoing', async () => (await stage()).completedAt === null);
  expect((await stage()).worktree?.merges).toEqual([]);
  expect([await head(), await status()]).toEqual([previous, '']);
});

const FILES = Array.from({ length: 120 }, (_, n) => `file-${String(n).padStart(3, '0')}.txt`);

/** A stage in Review that adds, changes and removes files, and a git that stops at one of them while it writes the main checkout. */
async function setUpFiles() {
  const at = (repo: string, name: string) => join(dirname(repo), name);
  const kit = await createKit({
    isEmulated: true,
    where: 'apart',
    before: async (repo) => {
      const [armed, reached, resume] = ['armed', 'reached', 'go-on'].map((name) => at(repo, name));
      const script = `test -e ${armed} || exec cat; rm -f ${armed}; echo $PPID > ${reached}.new; mv ${reached}.new ${reached}; while test -d ${dirname(repo)} && ! test -e ${resume}; do sleep 0.02; done; exec cat`;
      await writeFile(at(repo, 'hold.sh'), `${script}\n`);
      await git(repo, 'config', 'filter.hold.smudge', `exec sh ${at(repo, 'hold.sh')}`);
      await git(repo, 'config', 'filter.hold.clean', 'cat');
      await mkdir(join(repo, '.git', 'info'), { recursive: true });
      await writeFile(join(repo, '.git', 'info', 'attributes'), 'file-060.txt filter=hold\n');
      for (const file of ['gone.txt', 'file-010.txt', 'file-060.txt']) await writeFile(join(repo, file), 'old\n');
      await git(repo, 'add', '--all');
      await git(repo, 'commit', '--quiet', '-m', 'Old');
    },
  });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Done.' }] }));
  await kit.client.state(stageId, 'idle');
  const stage = async () => (await kit.client.command('get_stage', { stageId })).stage;
  const path = (await stage()).worktree?.path ?? '';
  for (const file of FILES) await writeFile(join(path, file), `${file}\n`);
  await rm(join(path, 'gone.txt'));
  await git(path, 'add', '--all');
  await git(path, 'commit', '--quiet', '-m', 'Work');
  const { repo } = kit;
  await writeFile(join(repo, 'main.txt'), 'main\n');
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Main goes on');
  const head = () => git(repo, 'rev-parse', 'HEAD');
  const status = () => git(repo, 'status', '--porcelain');
  const notices = async () =>
    (await kit.client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []));
  const complete = (merge: MergeMethod) => kit.client.command('complete_stage', { stageId, merge });
  const undo = () => kit.client.command('undo_completion', { stageId });
  /** Sends a command. @returns the pid of the git that has stopped halfway */
  const stopHalfway = async (command: () => Promise<unknown>) => {
    await writeFile(at(repo, 'armed'), '');
    void command().catch(() => undefined); // nobody is left to reply
    await until('git halfway', () => pathExists(at(repo, 'reached')));
    return Number(await readFile(at(repo, 'reached'), 'utf8'));
  };
  const release = () => writeFile(at(repo, 'go-on'), '');
  /** Ends this git like a power cut would. */
  const endGit = async (pid: number) => {
    const identity = await identify(pid);
    process.kill(pid, 'SIGKILL');
    await release();
    await until('the end of git', async () => identity === null || !(await isAlive(identity)));
  };
  return {
    kit,
    repo,
    stage,
    head,
    status,
    notices,
    complete,
    undo,
    stopHalfway,
    release,
    endGit,
    previous: await head(),
  };
}

it.each(['merge', 'squash', 'rebase'] as const)(
  'takes a %s back that was killed with its git halfway through the main checkout, and leaves what a person did meanwhile',
  async (method) => {
    const { kit, repo, stage, head, status, notices, complete, stopHalfway, endGit, previous } = await setUpFiles();
    const pid = await stopHalfway(() => complete(method));
    await kit.kill();
    await endGit(pid);
    expect((await status()).split('\n').length).toBeGreaterThan(30);
    expect(await pathExists(join(repo, '.git', 'index.lock'))).toBe(true);
    await writeFile(join(repo, 'file-020.txt'), 'my own\n');
    await writeFile(join(repo, 'README.md'), '# Mine\n');
    await kit.start();
    await until('the main checkout', async () => (await status()) === 'M README.md\n?? file-020.txt');
    expect([await head(), await readFile(join(repo, 'file-010.txt'), 'utf8')]).toEqual([previous, 'old\n']);
    expect(await pathExists(join(repo, 'gone.txt'))).toBe(true);
    expect(await stage()).toMatchObject({ column: 'review', merged: null });
    await until('the notice', async () => (await notices()).some((text) => text.includes('file-020.txt meanwhile')));
    expect(await notices()).toContainEqual(
      expect.stringMatching(/during the .* Nothing was merged, and the main checkout/),
    );
    await rm(join(repo, 'file-020.txt'));
    await git(repo, 'checkout', '--quiet', '--', '.');
    expect((await complete(method)).stage).toMatchObject({ column: 'done', merged: { method } });
    expect([await status(), await pathExists(join(repo, '.git', 'MERGE_HEAD'))]).toEqual(['', false]);
  },
);

it('keeps a merge whose undoing was killed with its git halfway, and undoes it at the next attempt', async () => {
  const { kit, repo, stage, head, status, notices, complete, undo, stopHalfway, endGit, previous } = await setUpFiles();
  await complete('squash');
  const merged = await head();
  const pid = await stopHalfway(undo);
  await kit.kill();
  await endGit(pid);
  expect(await status()).not.toBe('');
  await kit.start();
  await until('the main checkout', async () => (await status()) === '');
  expect([await head(), await pathExists(join(repo, 'gone.txt'))]).toEqual([merged, false]);
  await until('the notice', async () => (await notices()).some((text) => text.includes('stays in main')));
  expect((await stage()).merged).toMatchObject({ commit: merged });
  await undo();
  expect([await head(), await status()]).toEqual([previous, '']);
});

it('finishes a merge before it stops', async () => {
  const { kit, stage, head, status, complete, stopHalfway, release, previous } = await setUpFiles();
  await stopHalfway(() => complete('squash'));
  const stopped = kit.stop();
  await release();
  await stopped;
  expect([await head(), await status()]).not.toContain(previous);
  await kit.start();
  expect(await stage()).toMatchObject({ column: 'done', merged: { previous, commit: await head() } });
  expect(await status()).toBe('');
});
