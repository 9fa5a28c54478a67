import type { Project, SeenDiff, StageMerge, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';
import {
  conflict,
  countMissing,
  findConflicts,
  identityOptions,
  type Mergeable,
  NO_REPLACEMENTS,
  readContents,
  requireClean,
  requireSeen,
  targetOf,
  trialCommit,
  uncommitted,
  uncommittedFiles,
} from './merge-plan.ts';
import { createRestorePoint } from './restore-point.ts';

/** What was merged; `at` is the store's to say. */
export type Merged = Omit<StageMerge, 'at'>;

/** With `head` and `tree`, nothing is merged but what the person was shown. */
export interface MergeOrder extends SeenDiff {
  /** Called with what will be merged, right before it is. Resolves with variables for the git that merges, by which it can be found. */
  mayBegin?: (planned: Merged) => Promise<Readonly<Record<string, string>>>;
}

/**
 * Checks everything that could make a merge fail; changes nothing.
 * @param takesUncommitted whether uncommitted work is committed before the merge
 * @throws Rejection `head_moved`, `uncommitted_work`, `merge_refused`, `merge_conflict`
 */
export async function requireMergeable(
  git: Git,
  project: Project,
  worktree: Worktree,
  { takesUncommitted = false, ...seen }: SeenDiff & { takesUncommitted?: boolean },
): Promise<Mergeable> {
  const contents = await readContents(git, project, worktree);
  requireSeen(worktree, contents, seen);
  const files = await uncommittedFiles(git, worktree, contents);
  if (files.length > 0 && !takesUncommitted) throw uncommitted(worktree, files);
  const target = await targetOf(git, project);
  await requireClean(git, project);
  const trial = await trialCommit(git, worktree, contents);
  const conflicting = await findConflicts(git, project.path, trial);
  if (conflicting.length > 0) throw conflict(worktree.branch, target.into, conflicting);
  return { ...target, head: contents.head, ...(await countMissing(git, project.path, target.previous, trial)) };
}

/**
 * Merges a stage's newest commit into the branch that the repository's main checkout is on, with a merge commit.
 * Checks first for everything that could fail; if the merge fails anyway, it is undone.
 * @returns what was merged; null if there was nothing to merge
 * @throws Rejection `head_moved`, `uncommitted_work`, `merge_refused`, `merge_conflict`; whatever `mayBegin` throws
 */
export async function mergeInto(
  git: Git,
  project: Project,
  worktree: Worktree,
  { mayBegin, ...seen }: MergeOrder,
): Promise<Merged | null> {
  const { branch } = worktree;
  const { into, previous, head, ...counts } = await requireMergeable(git, project, worktree, seen);
  if (counts.commits === 0) return mergedBefore(git, project, worktree, { into, head });
  const undo = await createRestorePoint(git, project.path, head);
  const options = [
    ...(await identityOptions(git, project.path)),
    ...(await mergeOptionOverrides(git, project.path, into)),
  ];
  const planned: Merged = { commit: head, into, branch, head, previous, ...counts };
  const marker = await mayBegin?.(planned);
  const words = ['-m', `Merge branch '${branch}' into ${into}`];
  const env = { ...NO_REPLACEMENTS, ...marker };
  const merged = await git.try(project.path, [...options, 'merge', '--no-ff', ...words, head], env);
  const commit = await findMerge(git, project, planned); // git may have been killed after it had finished
  if (commit !== null) return { ...planned, commit };
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

/**
 * Returns the commit by which a branch took in what was planned, whatever was added to it since; null if it did not.
 * @throws OperationalError `worktree_failed`
 */
export async function findMerge(git: Git, project: Project, planned: Merged): Promise<string | null> {
  const { into, head, previous } = planned;
  if (previous === null) return planned.commit;
  const range = `${previous}..refs/heads/${into}`;
  const listed = await git.try(
    project.path,
    ['rev-list', '--first-parent', '--parents', '--reverse', range],
    NO_REPLACEMENTS,
  );
  if (listed.failed) return null; // the branch is gone
  const lines = listed.stdout.split('\n').map((line) => line.trim().split(' '));
  return lines.find(([, , second]) => second === head)?.[0] ?? null;
}

/** What to tell if the branch already has everything; null if the stage has no commit. */
async function mergedBefore(
  git: Git,
  project: Project,
  { branch, base }: Worktree,
  { into, head }: Pick<Mergeable, 'into' | 'head'>,
): Promise<Merged | null> {
  const counts = await countMissing(git, project.path, base, head);
  if (counts.commits === 0) return null;
  return { commit: head, into, branch, head, previous: null, ...counts };
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
