import { resolve } from 'node:path';
import type { Worktree } from '@callboard/contract';
import type { Git } from './git/git.ts';
import type { ObjectStore } from './git/objects-only-git.ts';

/** Reads a worktree's object store, index and head in one call of git; the head is `HEAD` if the branch is gone. */
export async function describeWorktree(
  git: Git,
  { path, branch }: Worktree,
): Promise<ObjectStore & { head: string; index: string }> {
  const ask = ['rev-parse', '--show-object-format', '--git-path', 'objects', '--git-path', 'index'];
  const own = await git.try(path, [...ask, `refs/heads/${branch}^{commit}`]);
  const told = own.failed ? await git.must(path, [...ask, 'HEAD^{commit}']) : own.stdout.trimEnd();
  const [format = '', objects = '', index = '', head = ''] = told.split('\n');
  return { format, objects: resolve(path, objects), index: resolve(path, index), head };
}
