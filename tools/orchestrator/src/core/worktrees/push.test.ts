import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setUpGitScene } from '../../../test/support/git-scene.ts';
import { readPush } from './publishing.ts';

const said = (stderr: string) =>
  readPush({ failed: true, wasKilled: false, exitCode: 1, stdout: 'To x\nDone\n', stderr }).failure;

it.each([
  ['behind', '!\ta:refs/heads/b\t[rejected] (fetch first)\nerror: failed to push some refs'],
  ['refused', '!\ta:refs/heads/b\t[remote rejected] (pre-receive hook declined)\nerror: failed to push some refs'],
  ['refused', 'remote: error: GH006: Protected branch update failed for refs/heads/b.'],
  ['no-login', "fatal: could not read Username for 'https://github.com': terminal prompts disabled"],
  [
    'no-access',
    'remote: Permission to acme/shop.git denied to ada.\nfatal: unable to access: The requested URL returned error: 403',
  ],
  ['no-access', 'git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.'],
  ['not-found', 'remote: Repository not found.\nfatal: repository not found'],
  ['unreachable', 'ssh: Could not resolve hostname github.com: Name or service not known'],
  ['hook', "npm test failed\nerror: failed to push some refs to 'origin'"],
  ['unknown', 'fatal: something new'],
])('tells %s from what git prints', (failure, stderr) => {
  expect(said(stderr)).toBe(failure);
});

it('pushes one commit to a real remote, keeps to it, and tells why it cannot', async () => {
  const scene = await setUpGitScene();
  const { folder, git, commit, project, worktree, worktrees, path } = scene;
  const remote = join(folder, 'remote.git');
  await mkdir(remote);
  await git(remote, 'init', '--quiet', '--bare');
  const signal = new AbortController().signal;
  const push = async (fields: object = {}) => {
    const head = await git(worktree.path, 'rev-parse', 'HEAD');
    return worktrees.push(
      project,
      worktree,
      { remote: 'origin', head, branch: worktree.branch, marker: {}, ...fields },
      signal,
    );
  };
  expect(await worktrees.planPush(project, worktree, null)).toMatchObject({ remote: null, base: 'main', commits: 0 });
  await git(path, 'remote', 'add', 'origin', remote);
  await commit(worktree.path, 'a.txt', 'one\n');
  expect(await worktrees.planPush(project, worktree, null)).toMatchObject({
    remote: { name: 'origin', urls: [remote] },
    commits: 1,
    unpushed: 1,
    files: 1,
    subjects: ['Write a.txt'],
  });
  expect((await push()).failure).toBeNull();
  expect(await git(remote, 'rev-parse', worktree.branch)).toBe(await git(worktree.path, 'rev-parse', 'HEAD'));
  expect((await worktrees.planPush(project, worktree, 'main')).unpushed).toBe(0);
  const older = await git(worktree.path, 'rev-parse', 'HEAD~1');
  expect((await push({ head: older })).failure).toBe('behind');
  await writeFile(join(remote, 'hooks', 'update'), '#!/bin/sh\necho "frozen" >&2\nexit 1\n');
  await chmod(join(remote, 'hooks', 'update'), 0o755);
  await commit(worktree.path, 'b.txt', 'two\n');
  expect(await push()).toMatchObject({ failure: 'refused', output: expect.stringContaining('frozen') });
  await git(path, 'remote', 'set-url', 'origin', join(folder, 'gone.git'));
  expect((await push()).failure).toBe('not-found');
  await git(path, 'remote', 'set-url', 'origin', 'https://127.0.0.1:1/acme/shop.git');
  expect((await push()).failure).toBe('unreachable');
});
