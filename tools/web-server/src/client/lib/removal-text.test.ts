import type { Removal } from '@callboard/contract';
import { expect, it } from 'vitest';
import { formatSize } from './format.ts';
import { deletedText, removalText } from './removal-text.ts';

const NOTHING: Removal = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
  loose: null,
};

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [3_440_000, '3.4 MB'],
  [212_000_000, '212 MB'],
  [5_000_000_000_000_000, '5000 TB'],
])('shows %i bytes as %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

it('says what happens to the worktree and the branch', () => {
  expect(removalText(NOTHING)).toEqual([]);
  const branch = { name: 'callboard/STAGE-1', isKept: true };
  expect(removalText({ ...NOTHING, worktree: '/w', branch })).toEqual([
    'Its worktree is removed.',
    'The branch callboard/STAGE-1 is kept: it has work that is not merged.',
  ]);
  expect(removalText({ ...NOTHING, worktree: '/w', left: 'It stays.', branch })).toEqual(['It stays.']);
});

it('names what is on no branch, other branches and stashes', () => {
  const loose = {
    branch: null,
    commits: 2,
    earlier: 1,
    operation: 'rebase' as const,
    branches: [{ name: 'other', commits: 1 }],
    stashes: ['On other: for later'],
  };
  expect(removalText({ ...NOTHING, loose })).toEqual([
    'A rebase in it is half done.',
    '2 commits that no branch has (the worktree is on no branch) and 1 earlier commit that only the reflog has go to the trash for 30 days.',
    'The branch other stays, with 1 unmerged commit.',
    '1 stash made in it stays in the repository (On other: for later).',
  ]);
});

it('names the processes that run on', () => {
  const running = [7, 8].map((pid) => ({ pid, command: 'sleep 60', startedAt: '2026-01-02T03:04:05.000Z' }));
  const text =
    "2 processes that Claude's commands started still run: sleep 60 (pid 7), sleep 60 (pid 8). Deleting the stage does not end them.";
  expect(removalText({ ...NOTHING, running })).toEqual([`${text} End what should not run on first.`]);
  expect(deletedText({ stage: {}, left: null, kept: null, deleted: [], running } as never)).toBe(text);
});

it('says what was kept and deleted, and is null if nothing was', () => {
  const nothing = { stage: {}, left: null, kept: null, deleted: [] } as never;
  expect(deletedText(nothing)).toBeNull();
  const all = {
    left: 'The branch was kept.',
    kept: { fileCount: 2, bytes: 812 },
    deleted: [{ path: 'dist', bytes: 1 }],
  };
  expect(deletedText(all as never)).toBe(
    '2 items moved to the trash (812 B). 1 build folder deleted (1 B). The branch was kept.',
  );
});
