import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRepository, git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { agreeToHook } from '../support/agreed-hook.ts';
import { said, setUpReview as setUp } from '../support/review.ts';

it('says what a merge would bring in, merges it, and says so with the commit', async () => {
  const { repo, path, commit, check, complete, head, stageId, client } = await setUp();
  expect((await check()).plan).toMatchObject({
    into: 'main',
    commits: 0,
    files: 0,
    uncommittedCount: 0,
    refusal: null,
  });
  await commit('a.txt');
  await commit('b.txt');
  const before = await head();
  const { plan, undo } = await check();
  expect(undo).toBeNull();
  expect(plan).toMatchObject({ branch: `callboard/${stageId}`, into: 'main', commits: 2, files: 2, conflicts: [] });
  const { stage } = await complete({ merge: true, head: plan?.head, tree: plan?.tree });
  const commitId = await head();
  expect(stage).toMatchObject({
    column: 'done',
    merged: { commit: commitId, into: 'main', head: await head(path), previous: before, commits: 2, files: 2 },
  });
  expect((await check()).undo).toEqual({ refusal: null });
  const notice = (await client.transcript(stageId)).find((entry) => entry.kind === 'notice' && entry.code === 'merged');
  expect(notice).toMatchObject({ text: expect.stringContaining(`into main: ${commitId.slice(0, 7)}.`) });
  expect(await readFile(join(repo, 'b.txt'), 'utf8')).toBe('work\n');
});

it('takes uncommitted work along with the person’s message, exactly as it was shown', async () => {
  const { repo, path, check, complete, seen, head, status } = await setUp();
  await writeFile(join(path, '.gitignore'), 'secret.env\n');
  await writeFile(join(path, 'secret.env'), 'KEY=1\n');
  await writeFile(join(path, 'new file.txt'), 'new\n');
  await writeFile(join(path, 'README.md'), '# More\n');
  const { plan } = await check();
  expect(plan).toMatchObject({ commits: 0, files: 3, uncommittedCount: 3 });
  expect(plan?.uncommitted).toContain('new file.txt');
  const shown = await seen();
  await writeFile(join(path, 'unseen.txt'), 'not shown\n');
  const order = { merge: true, commit: { message: 'Add the login form\n\nWith its tests.' } };
  await expect(complete({ ...order, ...shown })).rejects.toMatchObject({
    code: 'head_moved',
    message: expect.stringContaining('in the meantime: files in the worktree have changed'), // an automatic merge was seen by nobody
  });
  expect(await head(path)).toBe(shown.head);
  await rm(join(path, 'unseen.txt'));
  const { stage } = await complete({ ...order, ...shown });
  expect(stage.merged).toMatchObject({ commits: 1, files: 3 });
  expect(await git(path, 'log', '-1', '--format=%B')).toBe('Add the login form\n\nWith its tests.');
  expect(await readFile(join(repo, 'new file.txt'), 'utf8')).toBe('new\n');
  await expect(readFile(join(repo, 'secret.env'))).rejects.toThrow();
  expect(await status(path)).toBe('');
});

itAll('commits without merging, and merges the done stage later without reopening it', async () => {
  const { path, complete, undo, stage, head } = await setUp();
  await writeFile(join(path, 'a.txt'), 'work\n');
  expect((await complete({ commit: { message: 'Work' } })).stage).toMatchObject({ column: 'done', merged: null });
  const { completedAt } = await stage();
  await expect(complete()).rejects.toMatchObject({ code: 'already_done' });
  const before = await head();
  expect((await complete({ merge: 'merge' })).stage).toMatchObject({
    column: 'done',
    completedAt,
    merged: { commits: 1 },
  });
  await expect(complete({ merge: true })).rejects.toMatchObject({ code: 'already_done' });
  // Undo takes the later merge back, not the completion before it.
  expect((await undo()).stage).toMatchObject({ column: 'done', completedAt, merged: null });
  expect(await head()).toBe(before);
  expect((await undo()).stage).toMatchObject({ column: 'review', merged: null });
  await expect(undo()).rejects.toMatchObject({ code: 'not_done' });
});

it('refuses what cannot be merged, and changes nothing', async () => {
  const { kit, repo, path, commit, complete, check, head, status, stage } = await setUp();
  await commit('README.md', '# Theirs\n');
  const before = await head();
  await writeFile(join(repo, 'README.md'), '# Mine\n');
  expect((await check()).plan?.refusal).toContain('uncommitted changes (README.md)');
  await expect(complete({ merge: true })).rejects.toMatchObject({ code: 'merge_refused' });
  expect(await readFile(join(repo, 'README.md'), 'utf8')).toBe('# Mine\n');
  await git(repo, 'checkout', '--quiet', '--', 'README.md');

  await git(repo, 'checkout', '--quiet', '--detach');
  expect((await check()).plan).toMatchObject({ into: null, refusal: expect.stringContaining('not on a branch') });
  await expect(complete({ merge: true })).rejects.toMatchObject({ code: 'merge_refused' });
  await git(repo, 'checkout', '--quiet', 'main');
  expect(await head()).toBe(before);

  await writeFile(join(repo, 'README.md'), '# Mine\n');
  await git(repo, 'commit', '--quiet', '-am', 'In the way');
  expect((await check()).plan).toMatchObject({ conflicts: ['README.md'], refusal: null });
  // Uncommitted work conflicts as well, and is not committed then.
  await writeFile(join(path, 'b.txt'), 'more\n');
  const order = { merge: true, commit: { message: 'More' } };
  await expect(complete(order)).rejects.toMatchObject({ code: 'merge_conflict' });
  expect(await status(path)).toBe('?? b.txt');
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
  expect((await kit.client.command('get_session', { stageId: (await stage()).id })).session.state).toBe('idle');
});

it('leaves the worktree as it was if a hook refuses the commit, and says what the hook said', async () => {
  const { kit, path, complete, head, status, stage } = await setUp();
  await agreeToHook(kit, 'pre-commit', 'echo "the linter says no" >&2; exit 1');
  await writeFile(join(path, 'new.txt'), 'new\n');
  await writeFile(join(path, 'README.md'), '# Staged\n');
  await git(path, 'add', 'README.md');
  const [before, at] = [await status(path), await head(path)];
  await expect(complete({ merge: true, commit: { message: 'Work' } })).rejects.toMatchObject({
    code: 'commit_refused',
    message: expect.stringContaining('the linter says no'),
  });
  expect([await status(path), await head(path)]).toEqual([before, at]);
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
});

it('does not merge what a hook has changed', async () => {
  const { kit, path, complete, head, stage } = await setUp();
  await agreeToHook(kit, 'pre-commit', 'echo formatted > formatted.txt; git add formatted.txt');
  const main = await head();
  await writeFile(join(path, 'new.txt'), 'new\n');
  await expect(complete({ merge: true, commit: { message: 'Work' } })).rejects.toMatchObject({
    code: 'head_moved',
    message: expect.stringContaining('a hook of the repository changed'),
  });
  expect(await git(path, 'show', '--name-only', '--format=')).toContain('formatted.txt');
  expect(await head()).toBe(main);
  expect((await complete({ merge: true })).stage.merged).toMatchObject({ commits: 1, files: 2 });
  expect(await stage()).toMatchObject({ column: 'done' });
});

it('commits nothing on another branch than the stage’s', async () => {
  const { path, complete } = await setUp();
  await git(path, 'checkout', '--quiet', '--detach');
  await writeFile(join(path, 'a.txt'), 'work\n');
  const refused = expect.objectContaining({ code: 'branch_left', message: expect.stringContaining('on no branch') });
  await expect(complete({ merge: true, commit: { message: 'Work' } })).rejects.toEqual(refused);
  await git(path, 'checkout', '--quiet', '-b', 'other');
  await expect(complete({ merge: true, commit: { message: 'Work' } })).rejects.toMatchObject({
    message: expect.stringContaining('on the branch other'),
  });
});

it('merges a branch whose worktree was deleted, and says so if the branch is gone too', async () => {
  const { repo, path, commit, complete, check, stageId } = await setUp();
  await commit();
  await complete();
  await rm(path, { recursive: true });
  await git(repo, 'worktree', 'prune');
  expect((await check()).plan).toMatchObject({ commits: 1, uncommittedCount: 0 });
  expect((await complete({ merge: true })).stage.merged).toMatchObject({ commits: 1 });
  await git(repo, 'branch', '--quiet', '-D', `callboard/${stageId}`);
  expect((await check()).undo).toEqual({ refusal: null });
});

itAll('says that work was merged before, if a person has merged it', async () => {
  const { repo, path, commit, complete, head, undo, stageId } = await setUp();
  await commit();
  await git(repo, 'merge', '--quiet', '--no-ff', '-m', 'By hand', `callboard/${stageId}`);
  const by = await head();
  const { stage } = await complete({ merge: true });
  expect(stage.merged).toMatchObject({ commit: await head(path), into: 'main', previous: null, commits: 1 });
  expect((await undo()).stage).toMatchObject({ column: 'review', merged: null });
  expect(await head()).toBe(by);
});

itAll('has nothing to merge in a stage without commits, and in one that never ran', async () => {
  const { kit, complete, head } = await setUp();
  const before = await head();
  expect((await complete({ merge: true })).stage).toMatchObject({ column: 'done', merged: null });
  const fields = { projectId: 'shop', title: 'Never', prompt: 'P' };
  const { stage } = await kit.client.command('create_stage', fields);
  expect((await kit.client.command('get_completion', { stageId: stage.id })).completion).toEqual({
    plan: null,
    undo: null,
  });
  const done = await kit.client.command('complete_stage', { stageId: stage.id, merge: true, commit: { message: 'M' } });
  expect(done.stage).toMatchObject({ column: 'done', merged: null });
  expect((await kit.client.command('undo_completion', { stageId: stage.id })).stage.column).toBe('ready');
  expect(await head()).toBe(before);
});

it('takes a merge back only while that loses nothing', async () => {
  const { kit, repo, path, commit, complete, undo, check, head, stage } = await setUp();
  await commit();
  const before = await head();
  await complete({ merge: true });
  const merged = await head();
  const refuses = async (text: string) => {
    expect((await check()).undo?.refusal).toContain(text);
    await expect(undo()).rejects.toMatchObject({ code: 'undo_refused', message: expect.stringContaining(text) });
    expect(await head()).toBe(merged);
    expect(await stage()).toMatchObject({ column: 'done', merged: { commit: merged } });
  };
  await writeFile(join(repo, 'a.txt'), 'changed\n');
  await refuses('uncommitted changes (a.txt)');
  await git(repo, 'checkout', '--quiet', '--', 'a.txt');

  await git(repo, 'checkout', '--quiet', '-b', 'other');
  await refuses('is not on main');
  await git(repo, 'checkout', '--quiet', 'main');

  await mkdir(join(kit.folder, 'remote'));
  await git(join(kit.folder, 'remote'), 'init', '--quiet', '--bare');
  await git(repo, 'remote', 'add', 'origin', join(kit.folder, 'remote'));
  await git(repo, 'push', '--quiet', 'origin', 'main');
  await refuses('was pushed (origin/main)');
  await git(repo, 'remote', 'remove', 'origin');

  await writeFile(join(repo, 'untracked.txt'), 'mine\n');
  expect((await undo()).stage).toMatchObject({ column: 'review', merged: null });
  expect(await head()).toBe(before);
  expect(await readFile(join(repo, 'untracked.txt'), 'utf8')).toBe('mine\n');
  expect(await readFile(join(path, 'a.txt'), 'utf8')).toBe('work\n');

  await complete({ merge: true });
  await git(repo, 'commit', '--quiet', '--allow-empty', '-m', 'More');
  await expect(undo()).rejects.toMatchObject({ message: expect.stringContaining('main has moved on') });
  // Reopening stays possible, and the work stays in main.
  const { stage: reopened } = await kit.client.command('reopen_stage', { stageId: (await stage()).id });
  expect(reopened).toMatchObject({ column: 'review', merged: null });
});

itAll('merges in another repository while one is being merged', async () => {
  const { kit, commit, complete } = await setUp();
  await commit();
  const other = await createRepository(join(kit.folder, 'other'));
  const { project } = await kit.client.command('create_project', { path: other });
  const two = await kit.startStage(said('Two.'), { projectId: project.id });
  await kit.client.state(two, 'idle');
  const [first, second] = await Promise.all([
    complete({ merge: true }),
    kit.client.command('complete_stage', { stageId: two, merge: true }),
  ]);
  expect([first.stage.column, second.stage.column]).toEqual(['done', 'done']);
});

it.each(['merge', 'squash', 'rebase'] as const)(
  'refuses a %s that would overwrite files which git ignores or was told to ignore, and names them',
  async (method) => {
    const { repo, path, complete, check, head, status, undo } = await setUp();
    const commitAll = async (folder: string) => {
      await git(folder, 'add', '--all', '--force');
      await git(folder, 'commit', '--quiet', '-m', 'Work');
    };
    await writeFile(join(repo, '.gitignore'), '.env\nconfig\nbuilt\n');
    await writeFile(join(repo, 'settings.txt'), 'one\n');
    await mkdir(join(repo, 'data'));
    await writeFile(join(repo, 'data', 'rows.txt'), 'rows\n');
    await commitAll(repo);
    await git(path, 'merge', '--quiet', '--ff-only', 'main');
    // In the branch: a new file, a folder in place of nothing, and a file in place of a folder.
    await writeFile(join(path, '.env'), 'of=stage\n');
    await mkdir(join(path, 'config'));
    await writeFile(join(path, 'config', 'local.txt'), 'of the stage\n');
    await rm(join(path, 'data'), { recursive: true });
    await writeFile(join(path, 'data'), 'a file now\n');
    await writeFile(join(path, 'settings.txt'), 'two\n');
    await commitAll(path);
    await writeFile(join(repo, 'main.txt'), 'main\n');
    await commitAll(repo);
    const before = await head();
    const refuses = async (name: string, file: string, text: string) => {
      expect((await check(method)).plan?.refusal).toContain(name);
      await expect(complete({ merge: method })).rejects.toMatchObject({
        code: 'merge_refused',
        message: expect.stringContaining(name),
      });
      expect([await head(), await readFile(join(repo, file), 'utf8')]).toEqual([before, text]);
    };

    await writeFile(join(repo, '.env'), 'KEY=mine\n');
    await refuses('.env', '.env', 'KEY=mine\n');
    await rm(join(repo, '.env'));
    await writeFile(join(repo, 'config'), 'my own\n');
    await refuses('config', 'config', 'my own\n');
    await rm(join(repo, 'config'));
    await writeFile(join(repo, 'data', 'built'), 'built\n');
    await refuses('data/built', 'data/built', 'built\n');
    await rm(join(repo, 'data', 'built'));

    for (const flag of ['assume-unchanged', 'skip-worktree']) {
      await git(repo, 'update-index', `--${flag}`, 'settings.txt');
      await writeFile(join(repo, 'settings.txt'), 'mine\n');
      await refuses('settings.txt', 'settings.txt', 'mine\n');
      await git(repo, 'update-index', `--no-${flag}`, 'settings.txt');
      await git(repo, 'checkout', '--quiet', '--', 'settings.txt');
    }

    await complete({ merge: method });
    expect((await check()).undo).toEqual({ refusal: null });
    await undo();
    expect([await head(), await readFile(join(repo, 'data', 'rows.txt'), 'utf8')]).toEqual([before, 'rows\n']);
    expect(await status()).toBe('');
  },
);

it('does not undo a merge over a file that git ignores', async () => {
  const { repo, path, complete, check, undo, head } = await setUp();
  await writeFile(join(repo, '.gitignore'), '.env\n');
  await writeFile(join(repo, '.env'), 'KEY=shared\n');
  await git(repo, 'add', '--all', '--force');
  await git(repo, 'commit', '--quiet', '-m', 'With a secret');
  await git(path, 'merge', '--quiet', '--ff-only', 'main');
  await git(path, 'rm', '--quiet', '.env');
  await git(path, 'commit', '--quiet', '-m', 'Without');
  await complete({ merge: 'squash' });
  const merged = await head();
  await writeFile(join(repo, '.env'), 'KEY=mine\n');
  expect((await check()).undo?.refusal).toContain('.env');
  await expect(undo()).rejects.toMatchObject({ code: 'undo_refused', message: expect.stringContaining('.env') });
  expect([await head(), await readFile(join(repo, '.env'), 'utf8')]).toEqual([merged, 'KEY=mine\n']);
  await rm(join(repo, '.env'));
  await undo();
  expect(await readFile(join(repo, '.env'), 'utf8')).toBe('KEY=shared\n');
});
