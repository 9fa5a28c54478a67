import { copyFile, lstat, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Worktree } from '@callboard/contract';
import { OperationalError } from '../../lib/errors.ts';
import type { Git, ObjectStore } from '../../platform/git/git.ts';
import { placeholdersIn } from '../../platform/git/locate-checkout.ts';
import { excluded, nestedRepositories } from '../../platform/git/run-git.ts';

/** A worktree's files at one moment. */
export interface Snapshot {
  /** The tree of all files: committed, staged, changed and new ones, without ignored ones. */
  tree: string;
  /** Paths that git could not add. */
  unread: string[];
}

/** An untracked cache could hide files on purpose; line endings are converted as usual, without a refusal. */
const ADD = ['-c', 'core.untrackedCache=false', '-c', 'core.safecrlf=false', 'add', '--all', '--ignore-errors'];

/**
 * Writes a worktree's files into a tree as `git add --all` would add them (with filters and line endings), with a temporary
 * index, so that nothing is staged. Only adds objects to the repository.
 * @param ownIndex the path of the worktree's index, if the caller knows it
 * @param without paths that stay as they are in the index
 * @throws OperationalError `worktree_failed`
 */
export const takeSnapshot = (
  git: Git,
  path: string,
  ownIndex?: string,
  without: readonly string[] = [],
): Promise<Snapshot> => withIndexCopy(git, path, ownIndex, (copy) => snapshotOf(git, path, copy, without));

/**
 * Does what `takeSnapshot` does with a copy of the index.
 * @param without paths that stay as they are in the index
 */
export async function snapshotOf(
  git: Git,
  path: string,
  { env, nested }: IndexCopy,
  without: readonly string[],
): Promise<Snapshot> {
  // Git would run itself in every submodule: the commits that they are at are added separately.
  const left = [...new Set([...nested.keys(), ...without, ...placeholdersIn(path)])];
  const added = await git.try(path, [...ADD, '--', '.', ...left.map(excluded)], env);
  if (added.wasKilled || /^fatal:/m.test(added.stderr))
    throw new OperationalError('worktree_failed', `git add failed in ${path}: ${added.stderr}`);
  const unread = added.failed ? await listUnread(git, path, env) : [];
  const inner = [...nested.keys()].filter((one) => !without.includes(one));
  if (inner.length > 0) await git.try(path, ['update-index', '--add', '--remove', '--', ...inner], env);
  return { tree: await git.must(path, ['write-tree'], env), unread };
}

async function listUnread(git: Git, path: string, env: Record<string, string>): Promise<string[]> {
  const status = ['status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=dirty'];
  const entries = (await git.try(path, status, env)).stdout.split('\0');
  return entries.filter((entry) => /^.[^ ] /.test(entry)).map((entry) => entry.slice(3));
}

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
    const version = await copyIndex(own, index).catch(() =>
      git.must(path, ['read-tree', 'HEAD'], env).then(() => null),
    );
    const entries = await entriesIn(git, path, env, { index: own, version });
    await clearSkipMarks(git, path, env, entries);
    return await use({ env, nested: entries.nested });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Copies an index with its time: git reads every file again that was changed in the second in which the index was written, and
 * otherwise takes one of the same size for unchanged.
 * @returns a text that stands for the content of the index; null if it was written meanwhile
 */
async function copyIndex(from: string, to: string): Promise<string | null> {
  const before = await stat(from); // first: an index that is written meanwhile is newer
  await copyFile(from, to);
  await utimes(to, before.atime, before.mtime);
  const [version, after] = [before, await stat(from)].map(({ ino, size, mtimeMs, ctimeMs }) =>
    [ino, size, mtimeMs, ctimeMs].join(' '),
  );
  return version === after ? (version ?? null) : null;
}

/** What an index says beside contents. */
interface IndexEntries {
  nested: IndexCopy['nested'];
  /** Files that git leaves out, and files that it takes for unchanged. */
  skipped: readonly string[];
  unchanged: readonly string[];
}

/** By path. An index changes seldom, since Claude seldom stages anything, and asking git costs as much as a snapshot's own steps. */
const known = new Map<string, { version: string; entries: IndexEntries }>();
const MAX_KNOWN = 200;

async function entriesIn(
  git: Git,
  path: string,
  env: Record<string, string>,
  { index, version }: { index: string; version: string | null },
): Promise<IndexEntries> {
  const last = known.get(index);
  if (last !== undefined && last.version === version) return last.entries;
  const listed = await git.must(path, ['ls-files', '-v', '--stage', '-z'], env);
  const lines = listed.split('\0');
  const marked = (isMarked: (letter: string) => boolean) =>
    lines.filter((line) => isMarked(line.charAt(0))).map((line) => line.slice(line.indexOf('\t') + 1));
  const entries = {
    nested: nestedRepositories(listed),
    skipped: marked((letter) => letter.toUpperCase() === 'S'),
    unchanged: marked((letter) => letter >= 'a' && letter <= 'z'),
  };
  known.delete(index); // to the end
  if (version !== null) known.set(index, { version, entries });
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value ?? '');
  return entries;
}

/** Clears the flags that make git skip a file. Missing files of a sparse checkout keep theirs. */
async function clearSkipMarks(
  git: Git,
  path: string,
  env: Record<string, string>,
  { skipped, unchanged }: IndexEntries,
): Promise<void> {
  const found: string[] = [];
  for (const file of skipped) if (await isEntry(join(path, file))) found.push(file);
  for (const [option, files] of [['--no-skip-worktree', found] as const, ['--no-assume-unchanged', unchanged] as const])
    for (let at = 0; at < files.length; at += PATHS_PER_CALL)
      await git.must(path, ['update-index', option, '--', ...files.slice(at, at + PATHS_PER_CALL)], env);
}

const isEntry = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** A commit with its tree. */
export interface CommitWithTree {
  commit: string;
  tree: string;
}

/** Where a worktree's objects and index are, and what it is at. */
export interface WorktreeFacts extends ObjectStore {
  /** The newest commit of the stage's branch; that of `HEAD` if the branch is gone. */
  head: string;
  /** The path of the index. */
  index: string;
  /** What `HEAD` is at; null if it has no commit. */
  at: CommitWithTree | null;
}

/** Reads all of it in one call of git. @throws OperationalError `worktree_failed` */
export async function describeWorktree(git: Git, { path, branch }: Worktree): Promise<WorktreeFacts> {
  const ask = ['rev-parse', '--show-object-format', '--git-path', 'objects', '--git-path', 'index'];
  const own = `refs/heads/${branch}^{commit}`;
  const reported =
    (await said(git, path, [...ask, own, ...AT])) ??
    (await said(git, path, [...ask, own])) ??
    (await git.must(path, [...ask, 'HEAD^{commit}', ...AT]));
  const [format = '', objects = '', index = '', head = '', commit, tree] = reported.split('\n');
  const at = commit === undefined || tree === undefined ? null : { commit, tree };
  return { format, objects: resolve(path, objects), index: resolve(path, index), head, at };
}

const AT = ['HEAD^{commit}', 'HEAD^{tree}'];

async function said(git: Git, path: string, args: readonly string[]): Promise<string | null> {
  const { failed, stdout } = await git.try(path, args);
  return failed ? null : stdout.trimEnd();
}
