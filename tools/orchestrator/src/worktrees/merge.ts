import type { Project, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { rememberCheckout } from './remember-checkout.ts';
import type { Git } from './run-git.ts';

/**
 * Looks at everything that a merge could fail of, and changes nothing.
 * @returns the branch that would be merged into
 * @throws as `mergeInto`
 */
export async function requireMergeable(git: Git, project: Project, { path, branch }: Worktree): Promise<string> {
  const open = await git.must(path, ['status', '--porcelain']);
  if (open !== '') {
    const files = open.split('\n').map((line) => line.slice(3));
    const list = files.slice(0, 5).join(', ');
    const message = `${branch} has ${files.length} uncommitted file(s) (${list}). Have Claude commit them, or commit them yourself, then merge.`;
    throw new Rejection('uncommitted_work', message);
  }
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
  const conflicting = await findConflicts(git, project.path, branch);
  if (conflicting.length > 0) throw conflict(branch, into, conflicting);
  return into;
}

/** The files in which a merge would conflict; none where git (before 2.38) cannot tell without merging. */
async function findConflicts(git: Git, folder: string, branch: string): Promise<string[]> {
  const tried = await git.try(folder, ['merge-tree', '--write-tree', '--name-only', '--no-messages', 'HEAD', branch]);
  const [tree = '', ...files] = tried.stdout.trim().split('\n');
  return tried.failed && /^[0-9a-f]{40,}$/.test(tree) ? files : [];
}

function conflict(branch: string, into: string, files: readonly string[]): Rejection {
  const message = `${branch} conflicts with ${into} in ${files.join(', ')}. Nothing was merged. Have Claude merge ${into} into its branch first.`;
  return new Rejection('merge_conflict', message);
}

/**
 * Merges a stage's branch into the branch that the repository's main checkout is on, with a merge commit. Everything
 * that could go wrong is looked at first; if the merge fails all the same, it is taken back.
 * @throws Rejection `uncommitted_work`, `merge_refused`, `merge_conflict`
 */
export async function mergeInto(git: Git, project: Project, worktree: Worktree): Promise<void> {
  const { branch } = worktree;
  const into = await requireMergeable(git, project, worktree);
  const undo = await rememberCheckout(git, project.path, branch);
  const as = await whoMerges(git, project.path);
  const merged = await git.try(project.path, [...as, 'merge', '--no-ff', '--no-edit', branch]);
  if (!merged.failed) return;
  const isIn = !(await git.try(project.path, ['merge-base', '--is-ancestor', branch, 'HEAD'])).failed;
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
async function whoMerges(git: Git, path: string): Promise<string[]> {
  const known = await Promise.all(
    ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git.try(path, ['var', name])),
  );
  if (known.every(({ failed }) => !failed)) return [];
  return ['-c', 'user.name=Callboard', '-c', 'user.email=callboard@localhost'];
}
