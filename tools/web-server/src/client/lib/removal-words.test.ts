import type { Removal } from '@callboard/contract';
import { expect, it } from 'vitest';
import { sizeWords } from './format.ts';
import { deletedWords, removalWords } from './removal-words.ts';

const NOTHING: Removal = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
};

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [3_440_000, '3.4 MB'],
  [212_000_000, '212 MB'],
  [5_000_000_000_000_000, '5000 TB'],
])('shows %i bytes as %s', (bytes, words) => {
  expect(sizeWords(bytes)).toBe(words);
});

it('says what happens to the worktree and the branch', () => {
  expect(removalWords(NOTHING)).toEqual([]);
  const branch = { name: 'callboard/STAGE-1', isKept: true };
  expect(removalWords({ ...NOTHING, worktree: '/w', branch })).toEqual([
    'Its worktree is removed.',
    'The branch callboard/STAGE-1 is kept: it has work that is not merged.',
  ]);
  expect(removalWords({ ...NOTHING, worktree: '/w', left: 'It stays.', branch })).toEqual(['It stays.']);
});

it('names the processes that run on', () => {
  const running = [7, 8].map((pid) => ({ pid, command: 'sleep 60', startedAt: '2026-01-02T03:04:05.000Z' }));
  const words =
    "2 processes that Claude's commands started still run: sleep 60 (pid 7), sleep 60 (pid 8). Deleting the stage does not end them.";
  expect(removalWords({ ...NOTHING, running })).toEqual([`${words} End what should not run on first.`]);
  expect(deletedWords({ stage: {}, left: null, kept: null, deleted: [], running } as never)).toBe(words);
});

it('says what was kept and deleted, and is null if nothing was', () => {
  const nothing = { stage: {}, left: null, kept: null, deleted: [] } as never;
  expect(deletedWords(nothing)).toBeNull();
  const all = {
    left: 'The branch was kept.',
    kept: { fileCount: 2, bytes: 812 },
    deleted: [{ path: 'dist', bytes: 1 }],
  };
  expect(deletedWords(all as never)).toBe(
    '2 items moved to the trash (812 B). 1 build folder deleted (1 B). The branch was kept.',
  );
});
