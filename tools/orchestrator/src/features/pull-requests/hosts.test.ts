import { expect, it } from 'vitest';
import { createScriptedHost } from '../../../../../test-support/code-host/scripted-host.ts';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { refusalOf } from './code-host.ts';
import { createParentLookup } from './find-code-host.ts';
import {
  checksState,
  commentsOf,
  failedChecksOf,
  GitHubIssue,
  GitHubPullRequest,
  jobIn,
  plainLog,
  pullRequestOf,
  Threads,
} from './github.ts';

const reported = (fields: object = {}) =>
  pullRequestOf(
    GitHubPullRequest.parse({
      number: 12,
      url: 'https://github.com/a/b/pull/12',
      title: 'T',
      state: 'OPEN',
      isDraft: false,
      baseRefName: 'main',
      headRefName: 'x',
      headRefOid: 'a'.repeat(40),
      isCrossRepository: false,
      mergeCommit: null,
      mergeable: 'UNKNOWN',
      statusCheckRollup: [],
      ...fields,
    }),
  );

it('reads check runs and statuses of an older kind', () => {
  const run = (conclusion: string, status = 'COMPLETED') => ({
    __typename: 'CheckRun',
    name: 'build',
    conclusion,
    status,
  });
  const status = (state: string) => ({ __typename: 'StatusContext', context: 'ci/old', state });
  expect(reported({ statusCheckRollup: [run('SUCCESS'), status('SUCCESS'), run('SKIPPED')] }).checks).toBe('passing');
  expect(reported({ statusCheckRollup: [run('SUCCESS'), run('', 'IN_PROGRESS')] }).checks).toBe('pending');
  expect(reported({ statusCheckRollup: [run('', 'QUEUED'), status('ERROR')] })).toMatchObject({
    checks: 'failing',
    failing: ['ci/old'],
  });
  expect([reported({ statusCheckRollup: null }).checks, checksState([])]).toEqual(['none', 'none']);
});

it('tells drafts, merged and closed ones apart', () => {
  expect(reported({ isDraft: true }).state).toBe('draft');
  expect(reported({ state: 'MERGED', mergeCommit: { oid: 'c'.repeat(40) } })).toMatchObject({
    state: 'merged',
    mergeCommit: 'c'.repeat(40),
    conflicts: false,
  });
  expect(reported({ state: 'CLOSED', isDraft: true, mergeable: 'CONFLICTING' })).toMatchObject({
    state: 'closed',
    conflicts: false,
  });
  expect(reported({ mergeable: 'CONFLICTING' }).conflicts).toBe(true);
});

it('finds the job of a check, and takes the columns off a log', () => {
  expect(jobIn('https://github.com/a/b/actions/runs/12/job/34')).toBe('34');
  expect(jobIn('https://ci.example.org/7')).toBeNull();
  expect(
    plainLog('build\tTest\t2026-11-23T14:00:00.1234567Z npm ERR\tx\nbuild\tTest\t\uFEFF2026-11-23T14:00:00Z two'),
  ).toBe('npm ERR\tx\ntwo');
});

it('keeps what is not resolved, with the answers', () => {
  const thread = (id: string, isResolved: boolean) => ({
    id,
    isResolved,
    path: 'a.ts',
    line: null,
    originalLine: 4,
    comments: {
      nodes: [
        { body: 'Why?', url: 'https://github.com/a/b/pull/1#c', author: { login: 'ada' } },
        { body: 'So.', url: 'https://github.com/a/b/pull/1#c', author: null },
      ],
    },
  });
  const all = {
    data: { repository: { pullRequest: { reviewThreads: { nodes: [thread('1', true), thread('2', false)] } } } },
  };
  expect(commentsOf(Threads.parse(all))).toEqual([
    {
      id: '2',
      path: 'a.ts',
      line: 4,
      author: 'ada',
      url: 'https://github.com/a/b/pull/1#c',
      text: 'Why?\n\nsomebody answered: So.',
    },
  ]);
});

it.each([
  [4, 'To get started with GitHub CLI, please run:  gh auth login', 'code_host_login'],
  [1, 'HTTP 401: Bad credentials (https://api.github.com/graphql)', 'code_host_login'],
  [1, 'error connecting to api.github.com\ncheck your internet connection', 'code_host_unreachable'],
  [1, 'HTTP 403: API rate limit exceeded for user', 'code_host_unreachable'],
  [1, 'GraphQL: Could not resolve to a Repository with the name', 'pull_request_refused'],
  [1, 'pull request create failed: GraphQL: something new', 'pull_request_refused'],
])('sorts what a program says when it fails: %i %s', (exitCode, stderr, code) => {
  const refusal = refusalOf({ exitCode, stderr, stdout: '', wasKilled: false }, 'gh', 'github.com');
  expect(refusal.code).toBe(code);
  expect(refusal.message.split('\n')[0]).toMatch(/\.$|something new$/);
});

it('finds the parent of a fork on GitLab, unless the fork takes its merge requests itself', async () => {
  const host = await createScriptedHost(await temporaryFolder());
  const find = () =>
    createParentLookup({ PATH: `${host.bin}:${process.env.PATH}` })(
      'gitlab',
      { host: 'gitlab.com', path: 'ada/shop' },
      AbortSignal.timeout(15_000),
    );
  expect(await find()).toBeNull();
  host.change({ parent: 'acme/tools/shop' });
  const fork = { path: 'ada/shop', id: 2, parentId: 1 };
  expect(await find()).toEqual({ kind: 'gitlab', path: 'acme/tools/shop', fork });
  host.change({ isForItself: true });
  expect(await find()).toBeNull();
});

it('takes only addresses of pages: a link to anything else is none, and an issue without one is no answer', () => {
  const issue = { number: 1, title: 'T', url: 'https://github.com/a/b/issues/1' };
  expect(GitHubIssue.parse(issue).url).toBe(issue.url);
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'not an address'])
    expect(GitHubIssue.safeParse({ ...issue, url }).success).toBe(false);
  const check = { name: 'ci', conclusion: 'FAILURE', detailsUrl: 'javascript:alert(1)' };
  const pull = { number: 1, url: issue.url, state: 'OPEN', baseRefName: 'main', headRefName: 'x' };
  expect(failedChecksOf(GitHubPullRequest.parse({ ...pull, statusCheckRollup: [check] }))).toEqual([
    { name: 'ci', url: null },
  ]);
});
