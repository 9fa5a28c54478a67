import { copyFile, lstat, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OperationalError } from '../lib/errors.ts';
import { excluding } from './git/command-line.ts';
import type { Git } from './git/git.ts';
import { placeholdersIn } from './sandbox-mount-points.ts';

/** A worktree's files at one moment. */
export interface Snapshot {
  /** The tree of all files: committed, staged, changed and new ones, without ignored ones. */
  tree: string;
  /** Paths that git could not add. */
  unread: string[];
}

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/** An untracked cache could hide files on purpose; line endings are converted as usual, without a refusal. */
const ADD = ['-c', 'core.untrackedCache=false', '-c', 'core.safecrlf=false', 'add', '--all', '--ignore-errors'];

export interface SnapshotOptions {
  /** The path of the worktree's index, if the caller knows it. */
  ownIndex?: string | undefined;
  /** Returns the paths that stay as they are in the worktree's index. Gets the variables that name a copy of that index. */
  without?: (env: Record<string, string>) => Promise<readonly string[]>;
}

/**
 * Writes a worktree's files into a tree as `git add --all` would add them (with filters and line endings), with a temporary
 * index, so that nothing is staged. Only adds objects to the repository.
 * @throws OperationalError `worktree_failed`
 */
export async function takeSnapshot(
  git: Git,
  path: string,
  { ownIndex, without = async () => [] }: SnapshotOptions = {},
): Promise<Snapshot> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const index = join(folder, 'index');
    const env = { GIT_INDEX_FILE: index, LC_ALL: 'C' };
    // A copy of the worktree's index tells git which files need not be read again.
    const own = ownIndex ?? resolve(path, await git.must(path, ['rev-parse', '--git-path', 'index']));
    await copyIndex(own, index).catch(() => git.must(path, ['read-tree', 'HEAD'], env));
    await clearSkipMarks(git, path, env);
    const left = await without(env);
    const add = left.length === 0 ? ADD : [...ADD, ...excluding([...left, ...placeholdersIn(path)])];
    const added = await git.try(path, add, env);
    if (added.wasKilled || /^fatal:/m.test(added.stderr))
      throw new OperationalError('worktree_failed', `git add failed in ${path}: ${added.stderr}`);
    const unread = added.failed ? await listUnread(git, path, env) : [];
    return { tree: await git.must(path, ['write-tree'], env), unread };
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
async function clearSkipMarks(git: Git, path: string, env: Record<string, string>): Promise<void> {
  const lines = (await git.must(path, ['ls-files', '-v', '-z'], env)).split('\0');
  const marked = (isMarked: (letter: string) => boolean) =>
    lines.filter((line) => isMarked(line.charAt(0))).map((line) => line.slice(2));
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

async function listUnread(git: Git, path: string, env: Record<string, string>): Promise<string[]> {
  const status = ['status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=dirty'];
  const entries = (await git.try(path, status, env)).stdout.split('\0');
  return entries.filter((entry) => /^.[^ ] /.test(entry)).map((entry) => entry.slice(3));
}

const isEntry = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
