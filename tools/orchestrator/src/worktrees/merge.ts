import type { Project, SeenDiff, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { headOf } from './diff.ts';
import type { Git } from './git/git.ts';
import { createRestorePoint } from './restore-point.ts';
import { takeSnapshot } from './snapshot.ts';

/** What a merge is of, and into what. */
interface Mergeable {
  /** The branch that the main checkout is on. */
  into: string;
  /** The branch's newest commit: this one is merged, wherever the branch goes meanwhile. */
  head: string;
}

/** No replaced objects and no grafts: a merge takes the objects as the diff shows them. */
const NO_REPLACEMENTS = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' };

/**
 * Looks at everything that a merge could fail of, and changes nothing.
 * @param seen what the person who merges was shown, as far as they said
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
      `The main checkout at ${project.path} is on no branch. Check out the branch to merge into.`,
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
 * The commit to merge: the one that was shown, with nothing in the worktree beside it.
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
  // By the trees, not by "git status": flags in an index can make that one blind.
  const committed = await git.must(path, ['rev-parse', '--verify', `${head}^{tree}`]);
  if (tree !== committed) throw await uncommitted(git, worktree, committed, tree);
  return head;
}

async function uncommitted(git: Git, { path, branch }: Worktree, before: string, after: string): Promise<Rejection> {
  const names = await git.must(path, ['diff-tree', '-r', '--no-renames', '--name-only', '-z', before, after]);
  const files = names.split('\0').filter((name) => name !== '');
  const [list, rest] = [files.slice(0, 5).join(', '), files.length > 5 ? ', …' : ''];
  const what = files.length === 1 ? '1 file has' : `${files.length} files have`;
  const message = `${what} changes that are not committed on ${branch} (${list}${rest}). Have Claude commit them, or commit them yourself, then merge.`;
  return new Rejection('uncommitted_work', message);
}

/** The files in which a merge would conflict; none where git (before 2.38) cannot tell without merging. */
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
 * Everything that could go wrong is looked at first; if the merge fails all the same, it is taken back.
 * @param seen what the person who merges was shown: nothing else is merged
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
  if (isIn) return; // it was killed after all was done
  const conflicts = await git.try(project.path, ['diff', '--name-only', '--diff-filter=U']);
  const left = await undo(merged.wasKilled);
  if (left !== null) {
    const message = `git failed while it merged ${branch}, and the main checkout at ${project.path} could not be put back as it was (${left}). Look at it with "git status" before you try again. ${merged.stderr}`;
    throw new Rejection('merge_refused', message.trim());
  }
  const files = conflicts.stdout.split('\n').filter((file) => file !== '');
  if (merged.wasKilled) {
    const message = `git was ended in the middle of merging ${branch}. Nothing was merged, and the main checkout is as it was. Try again.`;
    throw new Rejection('merge_refused', message);
  }
  if (files.length === 0)
    throw new Rejection(
      'merge_refused',
      `git refused to merge ${branch}, and nothing was merged: ${merged.stderr || merged.stdout}`,
    );
  throw conflict(branch, into, files);
}

/** Options that give git an identity of Callboard's own where it has none: a new machine, a container. The user's is not touched. */
async function identityOptions(git: Git, path: string): Promise<string[]> {
  const known = await Promise.all(
    ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git.try(path, ['var', name])),
  );
  if (known.every(({ failed }) => !failed)) return [];
  return ['-c', 'user.name=Callboard', '-c', 'user.email=callboard@localhost'];
}

/**
 * Options that switch the merge options of the target branch off: `-s ours` or `-X theirs`, set by a script, would make
 * something else of the merge than was seen.
 * @throws Rejection `merge_refused` where they cannot be switched off
 */
async function mergeOptionOverrides(git: Git, path: string, into: string): Promise<string[]> {
  const key = `branch.${into}.mergeOptions`;
  if ((await git.try(path, ['config', '--get-all', key])).failed) return [];
  if (!into.includes('=')) return ['-c', `${key}=`];
  const message = `The repository's configuration sets ${key}, which can change what a merge does. Remove it with "git config --unset-all", then merge.`;
  throw new Rejection('merge_refused', message);
}
