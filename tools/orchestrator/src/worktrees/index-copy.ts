import { copyFile, lstat, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { nestedRepositories } from './git/command-line.ts';
import type { Git } from './git/git.ts';

/** A private copy of a worktree's index, in which git skips no file that is there. */
export interface IndexCopy {
  /** The variables that make git use it. */
  env: Record<string, string>;
  /** The submodules in it: the commit of each, by path. */
  nested: ReadonlyMap<string, string>;
}

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/**
 * Copies the index of a worktree for as long as `use` runs: what happens to the copy stages nothing.
 * @param ownIndex the path of the worktree's index, if the caller knows it
 * @throws OperationalError `worktree_failed`
 */
export async function withIndexCopy<T>(
  git: Git,
  path: string,
  ownIndex: string | undefined,
  use: (copy: IndexCopy) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const index = join(folder, 'index');
    const env = { GIT_INDEX_FILE: index, LC_ALL: 'C' };
    // A copy of the worktree's index tells git which files need not be read again.
    const own = ownIndex ?? resolve(path, await git.must(path, ['rev-parse', '--git-path', 'index']));
    await copyIndex(own, index).catch(() => git.must(path, ['read-tree', 'HEAD'], env));
    const entries = await git.must(path, ['ls-files', '-v', '--stage', '-z'], env);
    await clearSkipMarks(git, path, env, entries.split('\0'));
    return await use({ env, nested: nestedRepositories(entries) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Copies an index with its time: git reads every file again that was changed in the second in which the index was written, and
 * otherwise takes one of the same size for unchanged.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const { atime, mtime } = await stat(from); // first: an index that is written meanwhile is newer
  await copyFile(from, to);
  await utimes(to, atime, mtime);
}

/** Clears the flags that make git skip a file. Missing files of a sparse checkout keep theirs. */
async function clearSkipMarks(
  git: Git,
  path: string,
  env: Record<string, string>,
  entries: readonly string[],
): Promise<void> {
  const marked = (isMarked: (letter: string) => boolean) =>
    entries.filter((line) => isMarked(line.charAt(0))).map((line) => line.slice(line.indexOf('\t') + 1));
  const skipped: string[] = [];
  for (const file of marked((letter) => letter.toUpperCase() === 'S'))
    if (await isEntry(join(path, file))) skipped.push(file);
  const unchanged = marked((letter) => letter >= 'a' && letter <= 'z');
  for (const [option, files] of [
    ['--no-skip-worktree', skipped] as const,
    ['--no-assume-unchanged', unchanged] as const,
  ])
    for (let at = 0; at < files.length; at += PATHS_PER_CALL)
      await git.must(path, ['update-index', option, '--', ...files.slice(at, at + PATHS_PER_CALL)], env);
}

const isEntry = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
