import type { Project, SeenDiff, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { pathExists } from '../lib/path-exists.ts';
import { describeWorktree } from './describe-worktree.ts';
import type { Git } from './git/git.ts';
import { takeSnapshot } from './snapshot.ts';

/** Where a merge goes. */
export interface MergeTarget {
  /** The branch that the main checkout is on, and the commit it is at. */
  into: string;
  previous: string;
}

/** What a worktree holds. */
export interface WorktreeContents {
  head: string;
  /** The tree of the head, and the tree of all files. They differ while there is uncommitted work. */
  committed: string;
  tree: string;
  /** The path of its index; null without a worktree. */
  index: string | null;
  /** Files that git cannot add. */
  unread: string[];
}

/** The commit that tells what a merge of uncommitted work would do. Nothing points at it; always the same for the same files. */
export const TRIAL_COMMIT = {
  GIT_AUTHOR_NAME: 'Callboard',
  GIT_AUTHOR_EMAIL: 'callboard@localhost',
  GIT_AUTHOR_DATE: '2000-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'Callboard',
  GIT_COMMITTER_EMAIL: 'callboard@localhost',
  GIT_COMMITTER_DATE: '2000-01-01T00:00:00Z',
};

/**
 * Reads what a worktree holds; without its folder, what its branch holds. Stages nothing.
 * @throws Rejection `merge_refused` if both are gone; OperationalError `worktree_failed`
 */
export async function readContents(git: Git, project: Project, worktree: Worktree): Promise<WorktreeContents> {
  const { path, branch } = worktree;
  if (await pathExists(path)) {
    const { head, index, at } = await describeWorktree(git, worktree);
    const { tree, unread } = await takeSnapshot(git, path, index);
    // Compares trees instead of "git status", which flags in the index can blind.
    const committed = at?.commit === head ? at.tree : await git.must(path, ['rev-parse', '--verify', `${head}^{tree}`]);
    return { head, committed, tree, index, unread };
  }
  const ask = ['rev-parse', '--verify', '--quiet'];
  const head = await git.try(project.path, [...ask, `refs/heads/${branch}^{commit}`]);
  if (head.failed) {
    const message = `The worktree ${path} and its branch ${branch} no longer exist, so there is nothing to merge.`;
    throw new Rejection('merge_refused', message);
  }
  const committed = await git.must(project.path, ['rev-parse', '--verify', `${head.stdout.trim()}^{tree}`]);
  return { head: head.stdout.trim(), committed, tree: committed, index: null, unread: [] };
}

/** Returns the paths with uncommitted changes. */
export async function uncommittedFiles(
  git: Git,
  { path }: Worktree,
  { committed, tree }: WorktreeContents,
): Promise<string[]> {
  if (tree === committed) return [];
  const names = await git.must(path, ['diff-tree', '-r', '--no-renames', '--name-only', '-z', committed, tree]);
  return names.split('\0').filter((name) => name !== '');
}

/**
 * Throws unless the worktree is as it was shown.
 * @throws Rejection `head_moved`
 */
export function requireSeen({ branch }: Worktree, { head, tree }: WorktreeContents, seen: SeenDiff): void {
  const moved = [
    seen.head !== undefined && seen.head !== head ? `${branch} has other commits` : '',
    seen.tree !== undefined && seen.tree !== tree ? 'files in the worktree have changed' : '',
  ].filter((text) => text !== '');
  if (moved.length === 0) return;
  // Also for a merge that no person has looked at before.
  const message = `The work has changed in the meantime: ${moved.join(', and ')}. Nothing was merged. Look at the changes, then merge.`;
  throw new Rejection('head_moved', message);
}

export function uncommitted({ branch }: Worktree, files: readonly string[]): Rejection {
  const [list, rest] = [files.slice(0, 5).join(', '), files.length > 5 ? ', …' : ''];
  const what = files.length === 1 ? '1 file has' : `${files.length} files have`;
  const message = `${what} uncommitted changes on ${branch} (${list}${rest}). Have Claude commit them, or commit them yourself, then merge.`;
  return new Rejection('uncommitted_work', message);
}

const BRANCHES = 'refs/heads/';

/**
 * Returns the branch that the main checkout is on, which a merge goes into, and the commit it is at.
 * @throws Rejection `merge_refused` if it is on none; OperationalError `worktree_failed`
 */
export async function targetOf(git: Git, project: Project): Promise<MergeTarget> {
  const reported = await git.must(project.path, ['rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD']);
  const [previous = '', name = ''] = reported.split('\n');
  if (name.startsWith(BRANCHES)) return { into: name.slice(BRANCHES.length), previous };
  throw new Rejection(
    'merge_refused',
    `The main checkout at ${project.path} is not on a branch. Check out the branch to merge into.`,
  );
}

/** @throws Rejection `merge_refused`, with the files, if tracked files of the main checkout have changed */
export async function requireClean(git: Git, project: Project): Promise<void> {
  const changed = await changedFiles(git, project.path);
  if (changed.length === 0) return;
  throw new Rejection(
    'merge_refused',
    `The main checkout at ${project.path} has uncommitted changes (${namedFiles(changed)}). Commit or stash them, then merge.`,
  );
}

/** Returns the tracked files of a checkout that have uncommitted changes. @throws OperationalError `worktree_failed` */
export async function changedFiles(git: Git, checkout: string): Promise<string[]> {
  const list = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no'];
  return (await git.must(checkout, list)).split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
}

/** Lists the first five of these files. */
export const namedFiles = (files: readonly string[]): string =>
  `${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`;

/** Returns the commit to try the merge with: the head, or one that nothing points at, with the uncommitted work. */
export async function trialCommit(git: Git, { path }: Worktree, contents: WorktreeContents): Promise<string> {
  const { head, committed, tree } = contents;
  if (tree === committed) return head;
  return git.must(path, ['commit-tree', tree, '-p', head, '-m', 'Uncommitted work'], TRIAL_COMMIT);
}

/** Returns options with Callboard's identity if git has none, for example on a new machine or in a container. */
export async function identityOptions(git: Git, path: string): Promise<string[]> {
  const known = await Promise.all(
    ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git.try(path, ['var', name])),
  );
  if (known.every(({ failed }) => !failed)) return [];
  return AS_CALLBOARD;
}

/** Options with Callboard's identity. */
export const AS_CALLBOARD = ['-c', 'user.name=Callboard', '-c', 'user.email=callboard@localhost'];
