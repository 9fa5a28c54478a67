import { expect, it } from 'vitest';
import { mergedText } from './completion-text.ts';

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
