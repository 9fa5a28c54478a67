import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileDiff, StageDiff, Worktree } from '@callboard/contract';
import type { Git } from './run-git.ts';

/** A longer diff of one file is not shown; its counts are. */
const LONGEST_PATCH = 400_000;

const STATUS: Readonly<Record<string, FileDiff['status']>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  T: 'modified',
};

/** A worktree's change against its base: commits, uncommitted changes and new files together. Touches nothing. */
export async function diffOf(git: Git, worktree: Worktree): Promise<StageDiff> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    // An index of our own, so that new files can be counted in without staging anything in the worktree.
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git.must(worktree.path, ['read-tree', 'HEAD'], env);
    await git.must(worktree.path, ['add', '--all'], env);
    const against = ['--cached', '--no-color', '--no-ext-diff', '--find-renames', worktree.base];
    const names = await git.must(worktree.path, ['diff', '--name-status', '-z', ...against], env);
    const counts = await git.must(worktree.path, ['diff', '--numstat', '-z', ...against], env);
    const patches = await git.must(
      worktree.path,
      ['diff', '--patch', '--src-prefix=a/', '--dst-prefix=b/', ...against],
      env,
    );
    return {
      base: worktree.base,
      branch: worktree.branch,
      files: join3(parseNames(names), parseCounts(counts), splitPatches(patches)),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Named = Pick<FileDiff, 'path' | 'oldPath' | 'status'>;
type Counted = Pick<FileDiff, 'additions' | 'deletions' | 'isBinary'>;

/** Git prints all three in the same order. */
function join3(names: Named[], counts: Counted[], patches: string[]): FileDiff[] {
  return names.map((named, index) => {
    const counted = counts[index] ?? { additions: 0, deletions: 0, isBinary: false };
    const patch = patches[index] ?? null;
    return {
      ...named,
      ...counted,
      patch: counted.isBinary || patch === null || patch.length > LONGEST_PATCH ? null : patch,
    };
  });
}

/** `M\0path\0`, or `R100\0old\0new\0`. */
function parseNames(output: string): Named[] {
  const fields = output.split('\0');
  const names: Named[] = [];
  for (let at = 0; at + 1 < fields.length; ) {
    const letter = (fields[at] ?? '').slice(0, 1);
    const isMove = letter === 'R' || letter === 'C';
    const oldPath = isMove ? (fields[at + 1] ?? '') : null;
    names.push({ status: STATUS[letter] ?? 'modified', oldPath, path: fields[at + (isMove ? 2 : 1)] ?? '' });
    at += isMove ? 3 : 2;
  }
  return names;
}

/** `1\t2\tpath\0`, or `1\t2\t\0old\0new\0`; `-` for a binary file. */
function parseCounts(output: string): Counted[] {
  return output.split('\0').flatMap((field) => {
    const match = /^(\d+|-)\t(\d+|-)\t/.exec(field);
    if (match === null) return [];
    const isBinary = match[1] === '-';
    return [{ isBinary, additions: isBinary ? 0 : Number(match[1]), deletions: isBinary ? 0 : Number(match[2]) }];
  });
}

const splitPatches = (output: string): string[] => (output === '' ? [] : output.split(/^(?=diff --git )/m));
