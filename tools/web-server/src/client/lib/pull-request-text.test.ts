import { PullRequest, PullRequestPlan } from '@callboard/contract';
import { expect, it } from 'vitest';
import {
  finishingText,
  hasMoreToPush,
  openActionText,
  openPlanText,
  pullRequestDeps,
  pullRequestText,
} from './pull-request-text.ts';

const pullRequest = (fields: Partial<PullRequest> = {}): PullRequest =>
  PullRequest.parse({
    host: 'github',
    number: 12,
    url: 'https://github.com/a/b/pull/12',
    title: 'Login form',
    state: 'open',
    base: 'main',
    branch: 'callboard/STAGE-1',
    head: 'a'.repeat(40),
    checks: 'failing',
    failing: ['test'],
    unresolved: 2,
    conflicts: false,
    mergeCommit: null,
    checkedAt: '2026-01-02T03:04:05.000Z',
    stale: null,
    ...fields,
  });
const plan = (fields: Partial<PullRequestPlan> = {}): PullRequestPlan =>
  PullRequestPlan.parse({
    branch: 'callboard/STAGE-1',
    head: 'a'.repeat(40),
    tree: 'b'.repeat(40),
    base: 'main',
    remote: 'origin',
    repository: 'github.com/acme/shop',
    host: 'github',
    commits: 2,
    unpushed: 1,
    files: 3,
    uncommitted: [],
    uncommittedCount: 0,
    title: 'T',
    body: 'B',
    problem: null,
    ...fields,
  });

it('says number, state, checks and comments in one line, and colours only failure and merged', () => {
  expect(pullRequestText(pullRequest())).toBe('#12 open, checks failing, 2 comments');
  expect(pullRequestText(pullRequest({ state: 'draft', checks: 'pending', unresolved: null }))).toBe(
    '#12 draft, checks running',
  );
  expect(pullRequestText(pullRequest({ checks: 'none', unresolved: 1, conflicts: true }))).toBe(
    '#12 open, conflicts with main, 1 comment',
  );
  expect(pullRequestDeps(pullRequest({ state: 'merged' }))).toEqual([{ text: '#12 merged into main', tone: 'merged' }]);
  expect(pullRequestDeps(pullRequest({ state: 'closed' }))).toEqual([
    { text: '#12 closed without merging', tone: 'plain' },
  ]);
  expect(pullRequestDeps(pullRequest()).map(({ tone }) => tone)).toEqual(['plain', 'fail', 'plain']);
});

it('names the target on the button, and says what it will do', () => {
  expect(openActionText(plan(), null)).toBe('Open a pull request to main');
  expect(openPlanText(plan(), null)).toBe(
    'Push callboard/STAGE-1 (2 commits, 3 files) to github.com/acme/shop, and open a pull request to main.',
  );
  const fork = plan({ repository: 'github.com/ada/shop', parent: 'github.com/acme/shop' });
  expect(openActionText(fork, null)).toBe('Open a pull request to main of acme/shop');
  expect(openPlanText(fork, null)).toBe(
    'Push callboard/STAGE-1 (2 commits, 3 files) to github.com/ada/shop, and open a pull request to main of github.com/acme/shop, of which it is a fork.',
  );
  const more = plan({ uncommittedCount: 2, uncommitted: ['a', 'b'] });
  expect(openActionText(more, null)).toBe('Commit and open a pull request to main');
  expect(openActionText(more, pullRequest())).toBe('Commit and push to #12');
  expect(openPlanText(more, pullRequest())).toBe(
    'Commit 2 files on callboard/STAGE-1, then push 2 commits to #12 on github.com/acme/shop.',
  );
  expect([plan(), plan({ unpushed: 0 }), more].map(hasMoreToPush)).toEqual([true, false, true]);
});

it('says on the row why a stage was not finished by itself', () => {
  const finishing = {
    ...({
      way: 'pull-request',
      state: 'refused',
      by: 'Callboard',
      at: '2026-01-02T03:04:05.000Z',
      order: null,
    } as const),
    turn: '2026-01-02T03:04:05.000Z',
    problem: { code: 'code_host_login', message: 'gh is not logged in.\nmore', command: null, url: null },
  };
  expect(finishingText({ finishing })).toBe('no pull request: gh is not logged in.');
  expect(finishingText({ finishing: { ...finishing, turn: null } })).toBeNull();
  expect(finishingText({ finishing: null })).toBeNull();
});
