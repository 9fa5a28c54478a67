import { MergePlan } from '@callboard/contract';
import { expect, it } from 'vitest';
import { draftMessage, finishOf, leftWords, needsAsking, planWords } from './completion-words.ts';

const plan = (fields: Partial<MergePlan> = {}): MergePlan =>
  MergePlan.parse({
    ...{ branch: 'callboard/STAGE-4', head: 'a'.repeat(40), tree: 'b'.repeat(40), into: 'main', commits: 1, files: 3 },
    ...{ uncommitted: [], uncommittedCount: 0, conflicts: [], refusal: null },
    ...fields,
  });
const stage = { title: 'Login form', session: null };
const words = (fields: Partial<MergePlan> = {}) => planWords(plan(fields), stage);

it('names branch, commits, files and target', () => {
  expect(words()).toBe('Merge callboard/STAGE-4 (1 commit, 3 files) into main. No conflicts.');
  expect(words({ commits: 2, files: 1, uncommitted: ['a'], uncommittedCount: 1 })).toBe(
    'Commit 1 file on callboard/STAGE-4, then merge it (3 commits, 1 file) into main. No conflicts.',
  );
  expect(words({ conflicts: ['a', 'b', 'c', 'd', 'e'] })).toBe(
    'callboard/STAGE-4 and main change the same lines of a, b, c and 2 more.',
  );
  expect(words({ commits: 0, files: 0 })).toBe('callboard/STAGE-4 has nothing that main lacks.');
  expect(words({ refusal: 'It is dirty.' })).toBe('It is dirty.');
  expect(planWords(null, stage)).toBe('Login form was never started.');
});

it('knows what there is to do', () => {
  expect(finishOf(null)).toBe('nothing-ran');
  expect(finishOf(plan({ commits: 0 }))).toBe('nothing-to-merge');
  expect(finishOf(plan({ commits: 0, uncommittedCount: 1 }))).toBe('commit-and-merge');
  expect(finishOf(plan({ into: null, refusal: 'It is on no branch.' }))).toBe('refused');
  expect(finishOf(plan({ conflicts: ['a'] }))).toBe('conflict');
});

it('names what completing without a merge would leave', () => {
  expect(leftWords(plan())).toBe('1 commit that main lacks would stay on callboard/STAGE-4. You can merge later.');
  expect(leftWords(plan({ commits: 0, uncommitted: ['a', 'b'], uncommittedCount: 4 }))).toBe(
    '4 files with uncommitted changes (a, b and 2 more) would stay on callboard/STAGE-4. You can merge later.',
  );
  expect(leftWords(plan({ commits: 0 }))).toBeNull();
  expect([null, plan(), plan({ uncommittedCount: 1 })].map(needsAsking)).toEqual([true, false, true]);
});

it('drafts a message from the title and the first paragraph of the prompt', () => {
  expect(draftMessage({ title: 'Login form', prompt: 'Write\nthe form.\n\nAnd more.' })).toBe(
    'Login form\n\nWrite the form.',
  );
  expect(draftMessage({ title: 'Login form', prompt: 'Login form' })).toBe('Login form');
  expect(draftMessage({ title: 'T', prompt: 'word '.repeat(200) })).toMatch(/ \.\.\.$/);
});
