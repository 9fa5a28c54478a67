import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { NotKept } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import { nestedRepositories } from './git/command-line.ts';
import type { Git } from './git/git.ts';
import { identityOptions } from './merge-plan.ts';
import { takeSnapshot } from './snapshot.ts';

/** A larger file would stay in the repository for as long as the ref, and is seldom anybody's text. */
const LARGEST_FILE_BYTES = 50 * 1024 * 1024;

/** Where a worktree is kept. */
export interface KeepOrder {
  /** The full name of the ref, for example `refs/callboard/trash/STAGE-1/2026-01-31T12-00-00Z`. */
  ref: string;
  message: string;
}

/** A worktree as a commit. */
export interface KeptWorktree {
  /**
   * Its first parent is the commit that the worktree was at. If something was staged that neither that commit nor the files
   * have, a second parent has the index.
   */
  commit: string;
  /** The tree of the commit. */
  tree: string;
  /** The commit that the worktree was at. */
  head: string;
  /** Whether anything was not committed there. */
  isDirty: boolean;
  leftOut: NotKept[];
}

/** As `Worktrees.keep`. */
export async function keepWorktree(git: Git, path: string, { ref, message }: KeepOrder): Promise<KeptWorktree> {
  const head = await git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}']);
  let leftOut: NotKept[] = [];
  let staged: string | null = null;
  const { tree, unread } = await takeSnapshot(git, path, {
    without: async (env) => {
      staged = await stagedTree(git, path, env);
      leftOut = await findLeftOut(git, path, env);
      return leftOut.filter(({ reason }) => reason !== 'ignored').map((one) => one.path);
    },
  });
  const identity = await identityOptions(git, path);
  const commitTree = (of: string, words: string, parents: readonly string[]) =>
    git.must(path, [...identity, 'commit-tree', of, ...parents.flatMap((id) => ['-p', id]), '-m', words]);
  const headTree = await git.must(path, ['rev-parse', '--verify', `${head}^{tree}`]);
  const isStagedElsewhere = staged === null || staged === headTree || staged === tree;
  const index = isStagedElsewhere ? [] : [await commitTree(staged ?? tree, `${message} (index)`, [head])];
  const commit = await commitTree(tree, message, [head, ...index]);
  // Whoever removes files next relies on both.
  await git.must(path, ['-c', 'core.fsync=loose-object,reference', 'update-ref', ref, commit]);
  const unreadable = unread.map((name): NotKept => ({ path: name, reason: 'unreadable', bytes: null }));
  return { commit, tree, head, isDirty: tree !== headTree || index.length > 0, leftOut: [...leftOut, ...unreadable] };
}

/** As `Worktrees.leftOut`. */
export const leftOutOf = (git: Git, path: string): Promise<NotKept[]> => findLeftOut(git, path, {});

/** Returns the tree of the index; null while it has conflicts. */
async function stagedTree(git: Git, path: string, env: Record<string, string>): Promise<string | null> {
  const written = await git.try(path, ['write-tree'], env);
  return written.failed ? null : written.stdout.trim();
}

/** Returns files and folders that are in no commit of the worktree's files. @param env names another index */
async function findLeftOut(git: Git, path: string, env: Record<string, string>): Promise<NotKept[]> {
  // Without locks: Claude may be using git in there.
  const list = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all'];
  const changed = (await git.must(path, list, env)).split('\0').flatMap((line) => {
    const isToAdd = line.length > 3 && !' D'.includes(line.charAt(1)) && !isConflict(line);
    return isToAdd ? [line.slice(3)] : [];
  });
  const nested = await changedRepositories(git, path, env);
  const found: NotKept[] = nested.map((one) => ({ path: one, reason: 'nested-repository', bytes: null }));
  for (const name of changed) {
    if (nested.includes(name)) continue;
    // With all untracked files listed, only a repository stays a folder.
    if (name.endsWith('/')) found.push({ path: name.slice(0, -1), reason: 'nested-repository', bytes: null });
    else {
      const bytes = (await lstat(join(path, name)).catch(() => null))?.size ?? 0; // gone meanwhile
      if (bytes > LARGEST_FILE_BYTES) found.push({ path: name, reason: 'too-large', bytes });
    }
  }
  const others = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const ignored = (await git.must(path, others, env)).split('\0').filter((name) => name !== '');
  return [
    ...found,
    ...ignored.map((name): NotKept => ({ path: name.replace(/\/$/, ''), reason: 'ignored', bytes: null })),
  ];
}

/** Git resolves a conflict by adding the file. Left out, it would keep the index from becoming a tree. */
const isConflict = (line: string): boolean => /^(?:U.|.U|AA|DD)/.test(line);

/** Returns the submodules that are at another commit than the index says, or have uncommitted files. */
async function changedRepositories(git: Git, path: string, env: Record<string, string>): Promise<string[]> {
  const staged = await git.must(path, ['ls-files', '--stage', '-z'], env);
  const changed: string[] = [];
  for (const name of nestedRepositories(staged)) {
    const folder = join(path, name);
    if (!(await pathExists(join(folder, '.git')))) continue;
    const recorded = staged
      .split('\0')
      .find((line) => line.endsWith(`\t${name}`))
      ?.split(' ')[1];
    const now = await git.try(folder, ['rev-parse', '--verify', 'HEAD']);
    const status = await git.try(folder, ['status', '--porcelain']);
    if (now.stdout.trim() !== recorded || status.failed || status.stdout !== '') changed.push(name);
  }
  return changed;
}
