import { MergePlan } from '@callboard/contract';
import { expect, it } from 'vitest';
import { actionText, askToResolve, finishOf, leftText, mergedText, planText } from './finish-text.ts';

const plan = (fields: Partial<MergePlan> = {}): MergePlan =>
  MergePlan.parse({
    branch: 'callboard/STAGE-4',
    head: 'a'.repeat(40),
    tree: 'b'.repeat(40),
    into: 'main',
    commits: 1,
    files: 3,
    uncommitted: [],
    uncommittedCount: 0,
    conflicts: [],
    refusal: null,
    ...fields,
  });
const stage = { title: 'Login form', session: null };
const text = (fields: Partial<MergePlan> = {}) => planText(plan(fields), stage);

it('names branch, commits, files and target', () => {
  expect(text()).toBe('Merge callboard/STAGE-4 (1 commit, 3 files) into main. No conflicts.');
  expect(text({ commits: 2, files: 1, uncommitted: ['a'], uncommittedCount: 1 })).toBe(
    'Commit 1 file on callboard/STAGE-4, then merge it (3 commits, 1 file) into main. No conflicts.',
  );
  expect(text({ conflicts: ['a', 'b', 'c', 'd', 'e'] })).toBe(
    'callboard/STAGE-4 and main change the same lines in 5 files:',
  );
  expect(text({ commits: 0, files: 0 })).toBe('callboard/STAGE-4 has nothing that main lacks.');
  expect(text({ refusal: 'It is dirty.' })).toBe('It is dirty.');
  expect(planText(null, stage)).toBe('Login form was never started.');
});

it('says what each way does, on the button and above it', () => {
  const two = { commits: 2, files: 3 };
  expect(text({ method: 'squash', ...two })).toBe(
    'Squash callboard/STAGE-4 (2 commits, 3 files) into one commit on main. No conflicts.',
  );
  expect(text({ method: 'rebase', ...two, uncommittedCount: 2 })).toBe(
    'Commit 2 files on callboard/STAGE-4, then rebase it (3 commits, 3 files) onto main. No conflicts.',
  );
  const actions = (['merge', 'squash', 'rebase'] as const).flatMap((method) =>
    [0, 1].map((uncommittedCount) => actionText(plan({ method, uncommittedCount }))),
  );
  expect(actions).toEqual([
    ...['Merge into main', 'Commit and merge into main'],
    ...['Squash into main', 'Commit and squash into main'],
    ...['Rebase onto main', 'Commit and rebase onto main'],
  ]);
  const stoppedAt = { commit: 'c'.repeat(40), subject: 'Write it' };
  expect(text({ method: 'rebase', conflicts: ['a'], stoppedAt })).toBe(
    'ccccccc "Write it" on callboard/STAGE-4 and main change the same lines in a file:',
  );
});

it('tells Claude which files conflict, and what to do in its worktree', () => {
  const conflicts = ['src/a.ts', 'src/b c.ts'];
  expect(askToResolve(plan({ conflicts }))).toBe(
    'Your work conflicts with main. Merge main into the current branch, here in your worktree, and resolve the conflicts so that both sides keep their meaning. Check that everything still works, and commit the merge. Change no other branch.\n\nConflicting files:\n- src/a.ts\n- src/b c.ts',
  );
  const stoppedAt = { commit: 'c'.repeat(40), subject: 'Write it' };
  const rebase = askToResolve(plan({ method: 'rebase', conflicts, stoppedAt, uncommittedCount: 1 }));
  expect(rebase).toContain('Commit your work. Then rebase the current branch onto main');
  expect(rebase).toContain('Conflicting files of ccccccc "Write it":\n- src/a.ts');
  expect(rebase).not.toContain('commit the merge');
  const many = askToResolve(plan({ conflicts: Array.from({ length: 60 }, (_, n) => `f${n}`) }));
  expect(many).toMatch(/- f49\n- and 10 more$/);
});

it('knows what there is to do', () => {
  expect(finishOf(null)).toBe('nothing-ran');
  expect(finishOf(plan({ commits: 0 }))).toBe('nothing-to-merge');
  expect(finishOf(plan({ commits: 0, uncommittedCount: 1 }))).toBe('commit-and-merge');
  expect(finishOf(plan({ into: null, refusal: 'It is on no branch.' }))).toBe('refused');
  expect(finishOf(plan({ conflicts: ['a'] }))).toBe('conflict');
});

it('names what completing without a merge would leave', () => {
  expect(leftText(plan())).toBe('1 commit that main lacks would stay on callboard/STAGE-4. You can merge later.');
  expect(leftText(plan({ commits: 0, uncommitted: ['a', 'b'], uncommittedCount: 4 }))).toBe(
    '4 files with uncommitted changes (a, b and 2 more) would stay on callboard/STAGE-4. You can merge later.',
  );
  expect(leftText(plan({ commits: 0 }))).toBeNull();
});

const merged = {
  method: 'squash' as const,
  commit: '3f2a1c7d3f2a1c7d3f2a1c7d3f2a1c7d3f2a1c7d',
  into: 'main',
  branch: 'callboard/STAGE-1',
  head: 'a'.repeat(40),
  previous: 'b'.repeat(40),
  commits: 1,
  files: 1,
  at: '2026-01-02T03:04:05.000Z',
  pullRequest: null,
};

it('tells merged work from work that is only done', () => {
  expect(mergedText({ merged })).toEqual({ text: 'merged 3f2a1c7 into main', tone: 'merged' });
  expect(mergedText({ merged: null })).toEqual({ text: 'not merged', tone: 'plain' });
});
