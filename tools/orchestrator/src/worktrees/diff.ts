import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ChangeCounts, FileDiff, StageDiff, Worktree } from '@callboard/contract';
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

const AGAINST = ['--cached', '--no-color', '--no-ext-diff', '--find-renames'];

/** A worktree's change against its base: commits, uncommitted changes and new files together. Touches nothing. */
export function diffOf(git: Git, worktree: Worktree): Promise<StageDiff> {
  return withEverythingAdded(git, worktree, async (env) => {
    const against = [...AGAINST, worktree.base];
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
  });
}

/** How much that is. Touches nothing. */
export function countsOf(git: Git, worktree: Worktree): Promise<ChangeCounts> {
  return withEverythingAdded(git, worktree, async (env) => {
    const numbers = await git.must(worktree.path, ['diff', '--numstat', '-z', ...AGAINST, worktree.base], env);
    const files = parseCounts(numbers);
    return {
      files: files.length,
      additions: files.reduce((sum, file) => sum + file.additions, 0),
      deletions: files.reduce((sum, file) => sum + file.deletions, 0),
    };
  });
}

/**
 * Works with an index of our own that has all changes and new files in it, so that nothing is staged in the worktree. It
 * begins as a copy of the worktree's: git knows from it which files need not be read again, however many there are.
 */
async function withEverythingAdded<T>(
  git: Git,
  { path }: Worktree,
  use: (env: Record<string, string>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const index = join(folder, 'index');
    const env = { GIT_INDEX_FILE: index };
    const own = resolve(path, await git.must(path, ['rev-parse', '--git-path', 'index']));
    await copyFile(own, index).catch(() => git.must(path, ['read-tree', 'HEAD'], env));
    await git.must(path, ['add', '--all'], env);
    return await use(env);
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
