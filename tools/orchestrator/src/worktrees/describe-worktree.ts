import { resolve } from 'node:path';
import type { Worktree } from '@callboard/contract';
import type { Git } from './git/git.ts';
import type { ObjectStore } from './git/objects-only-git.ts';

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
