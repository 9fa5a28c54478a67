import {
  type MergeMethod,
  type MergePlan,
  NAMED_UNCOMMITTED,
  type Project,
  type StageMerge,
  type Worktree,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { OperationalError, Rejection } from '../lib/errors.ts';
import { requireCommittable } from './commit-worktree.ts';
import { committedPlaceholders, requireNoPlaceholders } from './committed-placeholders.ts';
import type { Git } from './git/git.ts';
import { type MergeOutcome, tryMerge } from './merge-outcome.ts';
import {
  readContents,
  requireClean,
  targetOf,
  trialCommit,
  uncommittedFiles,
  type WorktreeContents,
} from './merge-plan.ts';
import { draftSquashMessage } from './squash-message.ts';
import { reasonAgainstUndo } from './undo-merge.ts';

/** The merge that somebody thinks of, of a stage with this title. */
export interface MergeIdea {
  method: MergeMethod;
  title: string;
}

const NOTHING = { commits: 0, conflicts: [], stoppedAt: null, message: null };

/**
 * Returns what a merge of the worktree would do now, uncommitted work included, and whether it is possible. Changes nothing.
 * @throws OperationalError `worktree_failed`; Rejection `merge_refused` if the worktree and its branch are gone
 */
export async function planMerge(
  git: Git,
  project: Project,
  worktree: Worktree,
  { method, title }: MergeIdea,
): Promise<MergePlan> {
  const contents = await readContents(git, project, worktree);
  const { head, tree } = contents;
  const open = await uncommittedFiles(git, worktree, contents);
  const uncommitted = { uncommitted: open.slice(0, NAMED_UNCOMMITTED), uncommittedCount: open.length };
  const placeholders = contents.index === null ? [] : await committedPlaceholders(git, worktree, head);
  const seen = { method, branch: worktree.branch, head, tree, placeholders, ...uncommitted };
  const target = await orRefusal(targetOf(git, project));
  if ('refusal' in target) return { ...seen, ...NOTHING, into: null, files: open.length, refusal: target.refusal };
  const { into, previous } = target;
  const outcome = await orRefusal(outcomeOf(git, project, worktree, { method, previous, contents }));
  if ('refusal' in outcome) return { ...seen, ...NOTHING, into, files: open.length, refusal: outcome.refusal };
  const { commits, files, conflicts, stoppedAt, since } = outcome;
  const hasMore = open.length > 0;
  const checked = await orRefusal(
    requireNoPlaceholders(git, worktree, tree)
      .then(() => requireClean(git, project))
      .then(() => (hasMore ? requireCommittable(git, project, worktree, {}) : null)),
  );
  const squashed = { title, previous, head, since, hasMore };
  return {
    ...seen,
    ...{ into, files, conflicts, stoppedAt },
    commits: Math.max(0, commits - (hasMore ? 1 : 0)), // the trial commit is none
    message: method === 'squash' ? await draftSquashMessage(git, project.path, squashed) : null,
    refusal: checked !== null && 'refusal' in checked ? checked.refusal : null,
  };
}

async function outcomeOf(
  git: Git,
  project: Project,
  worktree: Worktree,
  { method, previous, contents }: { method: MergeMethod; previous: string; contents: WorktreeContents },
): Promise<MergeOutcome> {
  const commit = await trialCommit(git, worktree, contents);
  return tryMerge(git, project.path, worktree, { method, previous, commit });
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
