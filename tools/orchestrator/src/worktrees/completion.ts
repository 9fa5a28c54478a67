import { type MergePlan, NAMED_UNCOMMITTED, type Project, type StageMerge, type Worktree } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { OperationalError, Rejection } from '../lib/errors.ts';
import { requireCommittable } from './commit-worktree.ts';
import type { Git } from './git/git.ts';
import {
  countMissing,
  findConflicts,
  readContents,
  requireClean,
  targetOf,
  trialCommit,
  uncommittedFiles,
} from './merge-plan.ts';
import { reasonAgainstUndo } from './undo-merge.ts';

/**
 * Returns what a merge of the worktree would do now, uncommitted work included, and whether it is possible. Changes nothing.
 * @throws OperationalError `worktree_failed`; Rejection `merge_refused` if the worktree and its branch are gone
 */
export async function planMerge(git: Git, project: Project, worktree: Worktree): Promise<MergePlan> {
  const contents = await readContents(git, project, worktree);
  const files = await uncommittedFiles(git, worktree, contents);
  const target = await orRefusal(targetOf(git, project));
  const seen = {
    branch: worktree.branch,
    ...{ head: contents.head, tree: contents.tree },
    uncommitted: files.slice(0, NAMED_UNCOMMITTED),
    uncommittedCount: files.length,
  };
  if ('refusal' in target)
    return { ...seen, into: null, commits: 0, files: files.length, conflicts: [], refusal: target.refusal };
  const { into, previous } = target;
  const trial = await trialCommit(git, worktree, contents);
  const { commits, files: changed } = await countMissing(git, project.path, previous, trial);
  const committed = commits - (files.length > 0 ? 1 : 0); // the trial commit is none
  const conflicts = await findConflicts(git, project.path, trial);
  const checked = await orRefusal(
    requireClean(git, project).then(() => (files.length === 0 ? null : requireCommittable(git, project, worktree, {}))),
  );
  const refusal = checked !== null && 'refusal' in checked ? checked.refusal : null;
  return { ...seen, into, commits: committed, files: changed, conflicts, refusal };
}

/** Returns why a merge cannot be taken back, also if git fails; null if it can. */
export async function undoRefusal(git: Git, project: Project, merge: StageMerge): Promise<string | null> {
  try {
    return await reasonAgainstUndo(git, project, merge);
  } catch (error) {
    if (error instanceof OperationalError) return messageOf(error);
    throw error;
  }
}

async function orRefusal<T>(check: Promise<T>): Promise<T | { refusal: string }> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof Rejection) return { refusal: error.message };
    throw error;
  }
}
