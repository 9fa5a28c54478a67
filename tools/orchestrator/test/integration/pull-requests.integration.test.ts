import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addRemote, createScriptedHost } from '../../../../test-support/code-host/scripted-host.ts';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { pathExists } from '../../src/platform/files.ts';
import { createKit, type KitOptions } from '../support/kit.ts';
import { said } from '../support/review.ts';

const GITHUB = 'https://github.com/acme/shop.git';

/** A stage in Review with a commit, in a repository whose remote is on a scripted code host. */
async function setUp({
  address = GITHUB,
  fields = {},
  ...options
}: KitOptions & { address?: string; fields?: object } = {}) {
  const host = await createScriptedHost(await temporaryFolder());
  const kit = await createKit({
    isEmulated: true,
    programs: host.bin,
    ...options,
    before: (repo) => addRemote(repo, host, address),
  });
  const stageId = await kit.startStage(said('Done.'), { title: 'Login form', ...fields });
  await kit.client.state(stageId, 'idle');
  const stage = async () => (await kit.client.command('get_stage', { stageId })).stage;
  const path = (await stage()).worktree?.path ?? '';
  const commit = async (file = 'a.txt') => {
    await writeFile(join(path, file), 'work\n');
    await git(path, 'add', '.');
    await git(path, 'commit', '--quiet', '-m', `Write ${file}`);
  };
  const open = (body: object = {}) => kit.client.command('open_pull_request', { stageId, ...body });
  const plan = async () => (await kit.client.command('get_pull_request', { stageId })).plan;
  const branch = `callboard/${stageId}`;
  const there = () => git(host.remote, 'rev-parse', branch);
  const creations = () => host.calls().filter((call) => call.includes('create') || call.includes('POST'));
  return { kit, host, stageId, stage, path, commit, open, plan, branch, there, creations };
}

it('pushes and opens a pull request, brings back what becomes of it, and is done when it is merged there', async () => {
  const { kit, host, stageId, stage, path, commit, open, plan, branch, there, creations } = await setUp({
    limits: { pullRequestMs: 200 },
  });
  await commit();
  const main = await git(kit.repo, 'rev-parse', 'main');
  await writeFile(join(path, 'b.txt'), 'more\n');
  const before = await plan();
  expect(before).toMatchObject({
    branch,
    base: 'main',
    remote: 'origin',
    repository: 'github.com/acme/shop',
    host: 'github',
    problem: null,
    commits: 1,
    files: 2,
    uncommitted: ['b.txt'],
    uncommittedCount: 1,
    title: 'Login form',
  });
  await expect(open()).rejects.toMatchObject({ code: 'uncommitted_work' });
  const { head, tree } = before;
  await open({ head, tree, title: 'A login form', body: 'With "quotes"', draft: true, commit: { message: 'Rest' } });
  expect((await stage()).pullRequest).toMatchObject({
    number: 12,
    state: 'draft',
    checks: 'none',
    unresolved: 0,
    base: 'main',
    branch,
    stale: null,
    url: 'https://github.com/acme/shop/pull/12',
  });
  expect(await there()).toBe(await git(path, 'rev-parse', 'HEAD'));
  expect(host.state().requests).toMatchObject([{ title: 'A login form', body: 'With "quotes"', draft: true }]);

  const checks = [
    { name: 'build', outcome: 'failure', job: 7 } as const,
    { name: 'lint', outcome: 'success', job: 8 } as const,
  ];
  const threads = [
    { id: 'T1', path: 'a.txt', line: 1, author: 'ada', body: 'Check the empty case.', isResolved: false },
    { id: 'T2', path: 'b.txt', line: 1, author: 'ada', body: 'Nice.', isResolved: true },
  ];
  host.changeRequest({ checks, threads, draft: false });
  host.change({ logs: { 7: 'one\nError: expected 1 to be 2\n' } });
  await kit.client.event('stage-updated', ({ stage }) => stage.pullRequest?.checks === 'failing');
  expect((await stage()).pullRequest).toMatchObject({ state: 'open', failing: ['build'], unresolved: 1 });
  expect((await stage()).column).toBe('review');

  const { feedback } = await kit.client.command('get_feedback', { stageId });
  expect(feedback).toMatchObject({ checks: [{ name: 'build' }], comments: [{ id: 'T1', path: 'a.txt', line: 1 }] });
  await kit.client.command('send_feedback', { stageId, checks: ['build'], comments: ['T1'] });
  await kit.client.event('message-sent', ({ text }) => text.includes('pull request #12'));
  const sent = (await kit.client.transcript(stageId)).findLast(({ kind }) => kind === 'user');
  expect(sent).toMatchObject({ text: expect.stringContaining('Error: expected 1 to be 2') });
  expect(sent).toMatchObject({ text: expect.stringContaining('## a.txt:1\n\nada wrote:\n\n> Check the empty case.') });
  await kit.client.state(stageId, 'idle');

  // Another push goes to the same pull request.
  await commit('c.txt');
  await open();
  expect(await there()).toBe(await git(path, 'rev-parse', 'HEAD'));
  expect(creations()).toHaveLength(1);

  const mergeCommit = 'abcdef0123'.repeat(4);
  host.changeRequest({ state: 'merged', mergeCommit });
  await kit.client.event('stage-updated', ({ stage }) => stage.merged !== null);
  expect(await stage()).toMatchObject({
    column: 'done',
    merged: { commit: mergeCommit, into: 'main', commits: 3, files: 3, pullRequest: 12 },
    pullRequest: { state: 'merged' },
  });
  expect(await git(kit.repo, 'rev-parse', 'main')).toBe(main);
  expect(await git(kit.repo, 'status', '--porcelain')).toBe('');
  // It is done once: whoever reopens it is not overruled.
  await kit.client.command('reopen_stage', { stageId });
  await kit.client.command('refresh_pull_request', { stageId });
  expect((await stage()).column).toBe('review');
});

itAll('opens the pull request of a fork in its parent, once, and asks there what becomes of it', async () => {
  const { host, stage, commit, open, plan, there, path, creations } = await setUp({
    address: 'https://github.com/ada/shop.git',
  });
  host.change({ parent: 'acme/shop' });
  await commit();
  expect(await plan()).toMatchObject({
    repository: 'github.com/ada/shop',
    parent: 'github.com/acme/shop',
    problem: null,
  });
  await open({ title: 'From a fork' });
  expect((await stage()).pullRequest).toMatchObject({ number: 12, url: 'https://github.com/acme/shop/pull/12' });
  expect(await there()).toBe(await git(path, 'rev-parse', 'HEAD'));
  await commit('b.txt');
  await open();
  expect(creations()).toHaveLength(1);
  expect(await there()).toBe(await git(path, 'rev-parse', 'HEAD'));
});

itAll('opens the merge request of a fork on GitLab in its parent, and reads its pipeline in the fork', async () => {
  const { kit, host, stageId, stage, commit, open, plan, creations } = await setUp({
    address: 'git@gitlab.com:ada/shop.git',
  });
  host.change({ parent: 'acme/tools/shop' });
  await commit();
  expect(await plan()).toMatchObject({
    repository: 'gitlab.com/ada/shop',
    parent: 'gitlab.com/acme/tools/shop',
    problem: null,
  });
  await open({ title: 'From a fork' });
  const url = 'https://gitlab.com/acme/tools/shop/-/merge_requests/12';
  expect((await stage()).pullRequest).toMatchObject({ host: 'gitlab', number: 12, url, title: 'From a fork' });
  host.changeRequest({ checks: [{ name: 'test', outcome: 'failure', job: 3 }] });
  host.change({ logs: { 3: 'FAIL a.test' } });
  await kit.client.command('refresh_pull_request', { stageId });
  expect((await stage()).pullRequest).toMatchObject({ checks: 'failing', failing: ['test'] });
  await kit.client.command('send_feedback', { stageId, checks: ['test'], comments: [] });
  await kit.client.event('message-sent', ({ text }) => text.includes('FAIL a.test'));
  await kit.client.state(stageId, 'idle');
  await commit('b.txt');
  await open();
  expect(creations()).toHaveLength(1);
});

itAll('opens nothing where it cannot tell whether the remote is a fork', async () => {
  const { host, commit, open, plan, creations } = await setUp();
  await commit();
  host.change({ failure: { when: 'repo view', stderr: 'error connecting to api.github.com', exitCode: 1 } });
  expect((await plan()).problem).toMatchObject({ code: 'code_host_unreachable' });
  await expect(open()).rejects.toMatchObject({ code: 'code_host_unreachable' });
  expect(creations()).toEqual([]);
  host.change({ failure: null });
  await open();
  expect(creations()).toHaveLength(1);
});

itAll('does the same on GitLab', async () => {
  const { kit, host, stageId, stage, commit, open, creations } = await setUp({
    address: 'git@gitlab.com:acme/shop.git',
  });
  await commit();
  await open({ draft: true, title: 'Form' });
  expect((await stage()).pullRequest).toMatchObject({ host: 'gitlab', number: 12, state: 'draft', title: 'Form' });
  expect(creations()).toHaveLength(1);
  host.changeRequest({
    checks: [{ name: 'test', outcome: 'failure', job: 3 }],
    threads: [{ id: 'd1', path: 'a.txt', line: 2, author: 'bob', body: 'Why?', isResolved: false }],
  });
  host.change({ logs: { 3: 'FAIL a.test' } });
  await kit.client.command('refresh_pull_request', { stageId });
  expect((await stage()).pullRequest).toMatchObject({ checks: 'failing', failing: ['test'], unresolved: 1 });
  await kit.client.command('send_feedback', { stageId, checks: ['test'], comments: ['d1'] });
  await kit.client.event('message-sent', ({ text }) => text.includes('FAIL a.test') && text.includes('> Why?'));
  await kit.client.state(stageId, 'idle');
  host.changeRequest({ state: 'closed' });
  await kit.client.command('refresh_pull_request', { stageId });
  expect(await stage()).toMatchObject({ column: 'review', merged: null, pullRequest: { state: 'closed' } });
  const notices = (await kit.client.transcript(stageId)).flatMap((one) =>
    one.kind === 'notice' && one.code === 'pull-request' ? one.text : [],
  );
  expect(notices.at(-1)).toContain('was closed without being merged');
});

it('says why nothing was pushed or opened, keeps what was ordered, and goes on from there', async () => {
  const { host, stage, commit, open, plan, creations } = await setUp();
  await commit();
  const hook = join(host.remote, 'hooks', 'pre-receive');
  await writeFile(hook, '#!/bin/sh\necho "main is frozen today" >&2\nexit 1\n', { mode: 0o755 });
  const refused = { code: 'push_refused', message: expect.stringContaining('main is frozen today') };
  await expect(open({ title: 'Kept' })).rejects.toMatchObject(refused);
  expect((await stage()).finishing).toMatchObject({ state: 'refused', problem: refused, order: { title: 'Kept' } });
  expect(creations()).toEqual([]);
  await rm(hook);

  const text = 'pull request create failed: GraphQL: No commits between main and x (createPullRequest)';
  host.change({ failure: { when: 'pr create', stderr: text, exitCode: 1 } });
  await expect(open()).rejects.toMatchObject({ code: 'pull_request_refused' });
  host.change({ failure: null, isLoggedIn: false });
  expect((await plan()).problem).toMatchObject({
    code: 'code_host_login',
    command: 'gh auth login --hostname github.com',
    url: expect.stringMatching(/^https:\/\/github\.com\/acme\/shop\/compare\/main\.\.\.callboard\/STAGE-1/),
  });
  await expect(open()).rejects.toMatchObject({ code: 'code_host_login' });
  host.change({ isLoggedIn: true });
  await open();
  expect(await stage()).toMatchObject({ finishing: { state: 'done', problem: null }, pullRequest: { number: 12 } });
});

it('never forces: a branch that moved there is a refusal with a next step', async () => {
  const { kit, host, commit, open, branch, there } = await setUp();
  await commit();
  await git(kit.repo, 'push', '--quiet', 'origin', `main:refs/heads/${branch}`);
  const other = join(kit.folder, 'other');
  await git(kit.folder, 'clone', '--quiet', '--branch', branch, host.remote, other);
  await git(other, 'commit', '--quiet', '--allow-empty', '-m', 'By somebody else');
  await git(other, 'push', '--quiet', 'origin', branch);
  const theirs = await there();
  await expect(open()).rejects.toMatchObject({
    code: 'push_refused',
    message: expect.stringMatching(/has commits on origin that this worktree lacks\. Ask Claude to fetch/),
  });
  expect(await there()).toBe(theirs);
});

it('opens no second one after a crash between opening and storing, and keeps what the host says when it cannot be asked', async () => {
  const { kit, host, stageId, stage, commit, open, creations } = await setUp({ where: 'apart' });
  await commit();
  const pause = join(kit.folder, 'go-on');
  host.change({ pauseAfterCreate: pause });
  void open({ title: 'Once' }).catch(() => undefined); // nobody is left to reply
  await until('the pull request', () => pathExists(`${pause}.reached`));
  await kit.kill();
  host.change({ pauseAfterCreate: null });
  await writeFile(pause, '');
  await kit.start('apart');
  await kit.client.event('stage-updated', ({ stage }) => stage.pullRequest !== null, { withinMs: 30_000 });
  expect(await stage()).toMatchObject({ pullRequest: { number: 12, title: 'Once' }, finishing: { state: 'done' } });
  expect(creations()).toHaveLength(1);
  host.change({ failure: { when: 'pr view', stderr: 'error connecting to api.github.com', exitCode: 1 } });
  await kit.client.command('refresh_pull_request', { stageId });
  expect((await stage()).pullRequest).toMatchObject({
    number: 12,
    stale: 'github.com cannot be reached. Check the connection, then try again.',
  });
});

itAll('finishes stages by itself where a person wanted that, and needs somebody if it cannot', async () => {
  const { kit, host, stageId, stage, commit, path } = await setUp();
  await commit();
  host.change({ isLoggedIn: false });
  await kit.client.command('update_stage', { stageId, patch: { finish: 'pull-request' } });
  await kit.client.event('stage-updated', ({ stage }) => stage.finishing?.state === 'refused');
  expect(await stage()).toMatchObject({ column: 'needs-you', finishing: { problem: { code: 'code_host_login' } } });
  host.change({ isLoggedIn: true });
  await writeFile(join(path, 'b.txt'), 'more\n');
  await kit.client.command('send_message', { stageId, message: said('Again.') });
  await kit.client.event('stage-updated', ({ stage }) => stage.pullRequest !== null);
  expect(await stage()).toMatchObject({ column: 'review', finishing: { state: 'done', by: 'Callboard' } });
  expect(await git(path, 'status', '--porcelain')).toBe('');

  const two = await kit.startStage(said('Two.'), { title: 'Two', finish: 'merge' });
  await kit.client.event('stage-updated', ({ stage }) => stage.id === two && stage.completedAt !== null);
});

itAll('adds the receipt to a merge as a git note, and to a pull request where that is wanted', async () => {
  const { kit, host, stageId, commit, open } = await setUp();
  await commit();
  await open({ body: 'Form.', receipt: true });
  expect(host.state().requests[0]?.body).toMatch(/^Form\.\n\n<details>\n<summary>Receipt: 0 tool calls in 1 turn/);
  const { receipt, markdown } = await kit.client.command('get_receipt', { stageId });
  expect(receipt).toMatchObject({ stageId, total: 0, turns: [{ number: 1, calls: [] }], gaps: [] });
  const { stage: done } = await kit.client.command('complete_stage', { stageId, merge: true, receipt: true });
  const note = await git(kit.repo, 'notes', '--ref=callboard', 'show', done.merged?.commit ?? '');
  expect(note).toBe(markdown);
});

it('pushes no placeholder of the sandbox, and does once they were taken out', async () => {
  const { kit, stageId, path, commit, open, plan, there } = await setUp();
  await writeFile(join(path, '.zshrc'), '');
  await commit();
  const refused = {
    code: 'push_refused',
    message: expect.stringContaining('1 file of the branch is only a placeholder'),
  };
  expect((await plan()).problem).toMatchObject(refused);
  await expect(open()).rejects.toMatchObject(refused);
  await expect(there()).rejects.toThrow();
  expect(await kit.client.command('take_out_placeholders', { stageId })).toEqual({ files: ['.zshrc'] });
  await rm(join(path, '.zshrc'));
  await open();
  expect(await there()).toBe(await git(path, 'rev-parse', 'HEAD'));
});
