import { OperationalError } from '../lib/errors.ts';
import { excluded } from './git/command-line.ts';
import type { Git } from './git/git.ts';
import { type IndexCopy, withIndexCopy } from './index-copy.ts';
import { placeholdersIn } from './sandbox-mount-points.ts';

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
