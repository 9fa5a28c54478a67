import type { Project, SeenDiff, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { headOf } from './diff.ts';
import type { Git } from './git/git.ts';
import { createRestorePoint } from './restore-point.ts';
import { takeSnapshot } from './snapshot.ts';

/** A merge that is possible. */
interface Mergeable {
  /** The branch that the main checkout is on. */
  into: string;
  /** The branch's newest commit. Exactly this one is merged, even if the branch moves meanwhile. */
  head: string;
}

/** Without replaced objects and grafts, a merge takes the objects as the diff shows them. */
const NO_REPLACEMENTS = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' };

/**
 * Checks everything that could make a merge fail; changes nothing.
 * @param seen the commit and tree that the person was shown, if given
 * @throws as `mergeInto`
 */
export async function requireMergeable(
  git: Git,
  project: Project,
  worktree: Worktree,
  seen: SeenDiff,
): Promise<Mergeable> {
  const head = await requireSeen(git, worktree, seen);
  const target = await git.try(project.path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  if (target.failed) {
    throw new Rejection(
      'merge_refused',
      `The main checkout at ${project.path} is not on a branch. Check out the branch to merge into.`,
    );
  }
  const changed = await git.must(project.path, ['status', '--porcelain', '--untracked-files=no']);
  if (changed !== '') {
    throw new Rejection(
      'merge_refused',
      `The main checkout at ${project.path} has uncommitted changes. Commit or stash them, then merge.`,
    );
  }
  const into = target.stdout.trim();
  const conflicting = await findConflicts(git, project.path, head);
  if (conflicting.length > 0) throw conflict(worktree.branch, into, conflicting);
  return { into, head };
}

/**
 * Returns the commit to merge: it must be the one that was shown, and the worktree must have no other changes.
 * @throws Rejection `head_moved`, `uncommitted_work`
 */
async function requireSeen(git: Git, worktree: Worktree, seen: SeenDiff): Promise<string> {
  const { path, branch } = worktree;
  const head = await headOf(git, worktree);
  const { tree } = await takeSnapshot(git, path);
  const moved = [
    seen.head !== undefined && seen.head !== head ? `${branch} has other commits` : '',
    seen.tree !== undefined && seen.tree !== tree ? 'files in the worktree have changed' : '',
  ].filter((words) => words !== '');
  if (moved.length > 0) {
    const message = `Since you looked, ${moved.join(', and ')}. Nothing was merged. Look at the changes again, then merge.`;
    throw new Rejection('head_moved', message);
  }
  // Compares trees instead of "git status", which flags in the index can blind.
  const committed = await git.must(path, ['rev-parse', '--verify', `${head}^{tree}`]);
  if (tree !== committed) throw await uncommitted(git, worktree, committed, tree);
  return head;
}

async function uncommitted(git: Git, { path, branch }: Worktree, before: string, after: string): Promise<Rejection> {
  const names = await git.must(path, ['diff-tree', '-r', '--no-renames', '--name-only', '-z', before, after]);
  const files = names.split('\0').filter((name) => name !== '');
  const [list, rest] = [files.slice(0, 5).join(', '), files.length > 5 ? ', …' : ''];
  const what = files.length === 1 ? '1 file has' : `${files.length} files have`;
  const message = `${what} uncommitted changes on ${branch} (${list}${rest}). Have Claude commit them, or commit them yourself, then merge.`;
  return new Rejection('uncommitted_work', message);
}

/** Returns the files in which a merge would conflict; none if git (before 2.38) cannot tell without merging. */
async function findConflicts(git: Git, folder: string, head: string): Promise<string[]> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', 'HEAD', head];
  const tried = await git.try(folder, args, NO_REPLACEMENTS);
  const [tree = '', ...files] = tried.stdout.trim().split('\n');
  return tried.failed && /^[0-9a-f]{40,}$/.test(tree) ? files : [];
}

function conflict(branch: string, into: string, files: readonly string[]): Rejection {
  const message = `${branch} conflicts with ${into} in ${files.join(', ')}. Nothing was merged. Have Claude merge ${into} into its branch first.`;
  return new Rejection('merge_conflict', message);
}

/**
 * Merges a stage's newest commit into the branch that the repository's main checkout is on, with a merge commit.
 * Checks first for everything that could fail; if the merge fails anyway, it is undone.
 * @param seen the commit and tree that the person was shown: nothing else is merged
 * @throws Rejection `head_moved`, `uncommitted_work`, `merge_refused`, `merge_conflict`
 */
export async function mergeInto(git: Git, project: Project, worktree: Worktree, seen: SeenDiff): Promise<void> {
  const { branch } = worktree;
  const { into, head } = await requireMergeable(git, project, worktree, seen);
  const undo = await createRestorePoint(git, project.path, head);
  const options = [
    ...(await identityOptions(git, project.path)),
    ...(await mergeOptionOverrides(git, project.path, into)),
  ];
  const words = ['-m', `Merge branch '${branch}' into ${into}`];
  const merged = await git.try(project.path, [...options, 'merge', '--no-ff', ...words, head], NO_REPLACEMENTS);
  if (!merged.failed) return;
  const isIn = !(await git.try(project.path, ['merge-base', '--is-ancestor', head, 'HEAD'], NO_REPLACEMENTS)).failed;
  if (isIn) return; // git was killed after it had finished
  const conflicts = await git.try(project.path, ['diff', '--name-only', '--diff-filter=U']);
  const left = await undo(merged.wasKilled);
  if (left !== null) {
    const message = `git failed while merging ${branch}, and the main checkout at ${project.path} could not be restored (${left}). Check it with "git status" before you try again. ${merged.stderr}`;
    throw new Rejection('merge_refused', message.trim());
  }
  const files = conflicts.stdout.split('\n').filter((file) => file !== '');
  if (merged.wasKilled) {
    const message = `git was killed while merging ${branch}. Nothing was merged, and the main checkout is unchanged. Try again.`;
    throw new Rejection('merge_refused', message);
  }
  if (files.length === 0)
    throw new Rejection(
      'merge_refused',
      `git refused to merge ${branch}, and nothing was merged: ${merged.stderr || merged.stdout}`,
    );
  throw conflict(branch, into, files);
}

/** Returns options with Callboard's identity if git has none, for example on a new machine or in a container. */
async function identityOptions(git: Git, path: string): Promise<string[]> {
  const known = await Promise.all(
    ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git.try(path, ['var', name])),
  );
  if (known.every(({ failed }) => !failed)) return [];
  return ['-c', 'user.name=Callboard', '-c', 'user.email=callboard@localhost'];
}

/**
 * Returns options that switch off the merge options of the target branch: `-s ours` or `-X theirs`, set by a script, would
 * merge something other than what was shown.
 * @throws Rejection `merge_refused` if they cannot be switched off
 */
async function mergeOptionOverrides(git: Git, path: string, into: string): Promise<string[]> {
  const key = `branch.${into}.mergeOptions`;
  if ((await git.try(path, ['config', '--get-all', key])).failed) return [];
  if (!into.includes('=')) return ['-c', `${key}=`];
  const message = `The repository's configuration sets ${key}, which can change what a merge does. Remove it with "git config --unset-all", then merge.`;
  throw new Rejection('merge_refused', message);
}
