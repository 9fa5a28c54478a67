import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { setUpReview } from '../support/review.ts';

const FIVE = 'one\ntwo\nthree\nfour\nfive\n';

/** A stage in Review, on a main branch that has gone on. */
async function setUp() {
  const review = await setUpReview();
  const { repo, path, client, stageId, head } = review;
  const commitMain = async (file: string, text: string) => {
    await writeFile(join(repo, file), text);
    await git(repo, 'add', file);
    await git(repo, 'commit', '--quiet', '-m', `Main writes ${file}`);
  };
  const log = (format: string, ...range: string[]) => git(repo, 'log', `--format=${format}`, '--reverse', ...range);
  const read = (file: string, folder = repo) => readFile(join(folder, file), 'utf8');
  const reopen = () => client.command('reopen_stage', { stageId });
  const notices = async () =>
    (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []));
  const branch = `callboard/${stageId}`;
  const before = await head();
  return { ...review, commitMain, log, read, reopen, notices, branch, before, own: () => head(path) };
}

it('squashes the commits into one on the moved target, with the message of the person', async () => {
  const { repo, commit, commitMain, check, complete, log, read, head, own, notices, branch, status } = await setUp();
  await commit('a.txt');
  await commit('b.txt');
  await commitMain('meanwhile.txt', 'main\n');
  const previous = await head();
  const { plan } = await check('squash');
  expect(plan).toMatchObject({ method: 'squash', commits: 2, files: 2, conflicts: [], refusal: null });
  expect(plan?.message).toBe('Login form\n\n* Write a.txt\n* Write b.txt');
  expect(await head()).toBe(previous);
  const { stage } = await complete({ merge: 'squash', message: 'Add the form\n\n# Not a comment', head: plan?.head });
  const made = await head();
  expect(stage.merged).toMatchObject({ method: 'squash', commit: made, into: 'main', head: await own(), previous });
  expect(stage.merged).toMatchObject({ commits: 2, files: 2 });
  expect(await log('%H %P', '-1')).toBe(`${made} ${previous}`);
  expect(await log('%B', '-1')).toBe('Add the form\n\n# Not a comment');
  expect([await read('b.txt'), await read('meanwhile.txt'), await status()]).toEqual(['work\n', 'main\n', '']);
  expect(await notices()).toContainEqual(
    expect.stringMatching(new RegExp(`squashed ${branch} \\(2 commits\\) into main: ${made.slice(0, 7)}\\.$`)),
  );
  expect(await git(repo, 'branch', '--list', branch)).toContain(branch);
});

itAll('takes the message of a single commit, and drafts one with uncommitted work', async () => {
  const { path, commit, check, complete, log, undo, seen } = await setUp();
  await commit('a.txt');
  await git(path, 'commit', '--quiet', '--amend', '-m', 'Only this\n\nAnd why.');
  expect((await check('squash')).plan?.message).toBe('Only this\n\nAnd why.');
  await complete({ merge: 'squash' });
  expect(await log('%B', '-1')).toBe('Only this\n\nAnd why.');
  await undo();
  await writeFile(join(path, 'open.txt'), 'open\n');
  const { plan } = await check('squash');
  expect(plan).toMatchObject({ commits: 1, files: 2, uncommittedCount: 1 });
  expect(plan?.message).toBe('Login form\n\n* Only this');
  const text = plan?.message ?? '';
  const { stage } = await complete({ merge: 'squash', message: text, commit: { message: text }, ...(await seen()) });
  expect(stage.merged).toMatchObject({ commits: 2, files: 2 });
  expect(await log('%B', '-1')).toBe(text);
});

it('rebases as git does: authors and dates stay, merge commits and empty ones go', async () => {
  const { repo, path, commit, commitMain, check, complete, log, read, head, own, status } = await setUp();
  const author = ['-c', 'user.name=Zoë', '-c', 'user.email=zoe@example.org'];
  await writeFile(join(path, 'a.txt'), 'work\n');
  await git(path, 'add', '.');
  const date = '2001-02-03T04:05:06+07:00';
  await git(path, ...author, 'commit', '--quiet', '--date', date, '-m', 'Schön\n\n# kept\n\nBody');
  await git(path, 'commit', '--quiet', '--allow-empty', '-m', 'Nothing');
  await commitMain('same.txt', 'same\n');
  await commit('same.txt', 'same\n');
  await commitMain('meanwhile.txt', 'main\n');
  await git(path, 'merge', '--quiet', '-m', 'Take main in', 'main');
  await commit('b.txt');
  await commitMain('last.txt', 'main\n');
  const previous = await head();
  expect((await check('rebase')).plan).toMatchObject({ commits: 2, files: 2, conflicts: [], stoppedAt: null });
  const { stage } = await complete({ merge: 'rebase' });
  expect(stage.merged).toMatchObject({
    method: 'rebase',
    commit: await head(),
    head: await own(),
    previous,
    commits: 2,
  });
  expect(await log('%an <%ae> %aI|%s', `${previous}..HEAD`)).toBe(
    `Zoë <zoe@example.org> ${date}|Schön\nTest <test@example.org> ${await git(path, 'log', '-1', '--format=%aI')}|Write b.txt`,
  );
  expect(await git(repo, 'log', '-1', '--format=%B', 'HEAD^')).toBe('Schön\n\n# kept\n\nBody');
  expect(await git(repo, 'rev-list', '--merges', '--count', `${previous}..HEAD`)).toBe('0');
  expect([await read('b.txt'), await read('last.txt'), await status()]).toEqual(['work\n', 'main\n', '']);
});

itAll('fast-forwards to the same commits if main has not moved', async () => {
  const { commit, complete, head, own, undo, before } = await setUp();
  await commit('a.txt');
  await commit('b.txt');
  await complete({ merge: 'rebase' });
  expect(await head()).toBe(await own());
  await undo();
  expect(await head()).toBe(before);
});

it.each(['squash', 'rebase'] as const)('tells where a %s would conflict, and changes nothing', async (method) => {
  const { commit, commitMain, check, complete, head, status, stage } = await setUp();
  await commit('five.txt', FIVE);
  await commit('README.md', '# Theirs\n');
  await commitMain('README.md', '# Mine\n');
  const before = await head();
  const { plan } = await check(method);
  expect(plan).toMatchObject({ conflicts: ['README.md'], refusal: null });
  expect(plan?.stoppedAt?.subject ?? null).toBe(method === 'rebase' ? 'Write README.md' : null);
  await expect(complete({ merge: method })).rejects.toMatchObject({
    code: 'merge_conflict',
    message: expect.stringContaining('README.md'),
  });
  expect([await head(), await status()]).toEqual([before, '']);
  expect(await stage()).toMatchObject({ column: 'review', merged: null });
});

itAll.each(['squash', 'rebase'] as const)('refuses a %s for the same reasons as a merge', async (method) => {
  const { repo, path, commit, complete, check, seen, head, own, undo, read } = await setUp();
  await commit('a.txt');
  const shown = await seen();
  const before = await head();
  await writeFile(join(repo, 'README.md'), '# Mine\n');
  expect((await check(method)).plan?.refusal).toContain('uncommitted changes');
  await expect(complete({ merge: method })).rejects.toMatchObject({ code: 'merge_refused' });
  expect(await read('README.md')).toBe('# Mine\n');
  await git(repo, 'checkout', '--quiet', '--', 'README.md');
  await git(repo, 'checkout', '--quiet', '--detach');
  await expect(complete({ merge: method })).rejects.toMatchObject({ code: 'merge_refused' });
  await git(repo, 'checkout', '--quiet', 'main');
  // An untracked file is in the way: git itself refuses, and nothing has changed.
  await writeFile(join(repo, 'a.txt'), 'mine\n');
  await expect(complete({ merge: method })).rejects.toMatchObject({
    code: 'merge_refused',
    message: expect.stringContaining('a.txt'),
  });
  expect([await head(), await read('a.txt')]).toEqual([before, 'mine\n']);
  await rm(join(repo, 'a.txt'));
  await commit('unseen.txt');
  await expect(complete({ merge: method, ...shown })).rejects.toMatchObject({ code: 'head_moved' });
  await writeFile(join(path, 'open.txt'), 'open\n');
  await expect(complete({ merge: method })).rejects.toMatchObject({ code: 'uncommitted_work' });
  await rm(join(path, 'open.txt'));
  await complete({ merge: method });
  const [made, branchAt] = [await head(), await own()];
  await git(repo, 'commit', '--quiet', '--allow-empty', '-m', 'More');
  await expect(undo()).rejects.toMatchObject({ message: expect.stringContaining('main has moved on') });
  await git(repo, 'reset', '--quiet', '--hard', made);
  expect((await undo()).stage).toMatchObject({ column: 'review', merged: null });
  expect([await head(), await own()]).toEqual([before, branchAt]);
});

it('knows a squashed branch as merged, and later commits as not', async () => {
  const { repo, commit, commitMain, complete, check, reopen, stageId, log, head, read, client, branch } = await setUp();
  await commit('five.txt', FIVE);
  await commitMain('five-more.txt', FIVE);
  await complete({ merge: 'squash' });
  const removal = async () => (await client.command('get_removal', { stageId })).removal;
  expect((await removal()).branch).toEqual({ name: branch, isKept: false });
  const first = await head();
  await reopen();
  expect((await check()).plan).toMatchObject({ commits: 0, files: 0, conflicts: [] });
  const { stage } = await complete({ merge: true });
  expect(stage.merged).toMatchObject({ method: 'squash', commit: first, previous: null, commits: 1 });
  expect(await head()).toBe(first);
  await reopen();
  // The same lines again: git alone would see a conflict.
  await commit('five.txt', FIVE.replace('three', 'drei'));
  expect((await removal()).branch).toEqual({ name: branch, isKept: true });
  expect((await check('squash')).plan).toMatchObject({ commits: 1, files: 1, conflicts: [] });
  expect((await check('rebase')).plan).toMatchObject({ commits: 1, files: 1, conflicts: [] });
  const { diff } = await client.command('get_diff', { stageId });
  expect(diff.files).toMatchObject([{ path: 'five.txt', status: 'modified', additions: 1, deletions: 1 }]);
  await complete({ merge: 'squash', message: 'Again' });
  expect(await log('%s', `${first}..HEAD`)).toBe('Again');
  expect(await read('five.txt')).toContain('drei');
  expect((await removal()).branch).toEqual({ name: branch, isKept: false });
  const removed = await client.command('remove_stage', { stageId });
  expect(removed.left).toBeNull();
  expect(await git(repo, 'branch', '--list', branch)).toBe('');
});

itAll('keeps the branch if its squash was taken back, or main no longer has it', async () => {
  const { repo, commit, complete, undo, stageId, client, before } = await setUp();
  const isSaved = async () => (await client.command('get_removal', { stageId })).removal.branch?.isKept;
  await commit('a.txt');
  await complete({ merge: 'squash' });
  await undo();
  expect(await isSaved()).toBe(true);
  await complete({ merge: 'squash' });
  expect(await isSaved()).toBe(false);
  await git(repo, 'reset', '--quiet', '--hard', before);
  expect(await isSaved()).toBe(true);
  expect((await client.command('remove_stage', { stageId })).left).toContain('was kept');
});

itAll('says that a person has brought in the same changes', async () => {
  const { repo, commit, complete, head, branch, check } = await setUp();
  await commit('a.txt');
  await git(repo, 'merge', '--quiet', '--squash', branch);
  await git(repo, 'commit', '--quiet', '-m', 'By hand');
  const by = await head();
  expect((await check('rebase')).plan).toMatchObject({ commits: 0 });
  const { stage } = await complete({ merge: 'squash' });
  expect(stage.merged).toMatchObject({ commit: by, previous: null, commits: 1 });
  expect(await head()).toBe(by);
});
