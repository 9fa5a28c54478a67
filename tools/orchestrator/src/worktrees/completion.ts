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
import { elsewhereOf, elsewhereText, isAway } from './elsewhere.ts';
import type { Git } from './git/git.ts';
import { requireNothingInTheWay } from './in-the-way.ts';
import { type MergeOutcome, tryMerge } from './merge-outcome.ts';
import {
  readContents,
  requireClean,
  targetOf,
  trialCommit,
  uncommittedFiles,
  type WorktreeContents,
} from './merge-plan.ts';
import { requireAgreedSigning } from './signing.ts';
import { draftSquashMessage } from './squash-message.ts';
import { undoProblem } from './undo-merge.ts';

/** The merge that somebody thinks of, of a stage with this title. */
export interface MergeIdea {
  method: MergeMethod;
  title: string;
}

const NOTHING = { commits: 0, conflicts: [], stoppedAt: null, message: null };

/** As `planMerge`, also for a worktree that is not on the stage's branch. @throws as `planMerge` */
export async function planFinish(git: Git, project: Project, worktree: Worktree, idea: MergeIdea): Promise<MergePlan> {
  const elsewhere = await elsewhereOf(git, project, worktree);
  const plan = await planMerge(git, project, worktree, idea);
  if (elsewhere === null) return plan;
  if (!isAway(elsewhere)) return { ...plan, elsewhere };
  // Compared with the stage's branch, what was committed elsewhere would count as uncommitted.
  const refusal = elsewhereText(elsewhere);
  return { ...plan, elsewhere, refusal, conflicts: [], uncommitted: [], uncommittedCount: elsewhere.uncommitted };
}

/**
 * Returns what a merge of the worktree would do now, uncommitted work included, and whether it is possible. Changes nothing.
 * @throws OperationalError `worktree_failed`; Rejection `merge_refused` if the worktree and its branch are gone
 */
async function planMerge(
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
  const seen = { method, branch: worktree.branch, head, tree, elsewhere: null, placeholders, ...uncommitted };
  const target = await orRefusal(targetOf(git, project));
  if ('refusal' in target) return { ...seen, ...NOTHING, into: null, files: open.length, refusal: target.refusal };
  const { into, previous } = target;
  const outcome = await orRefusal(outcomeOf(git, project, worktree, { method, previous, contents }));
  if ('refusal' in outcome) return { ...seen, ...NOTHING, into, files: open.length, refusal: outcome.refusal };
  const { commits, files, conflicts, stoppedAt, since } = outcome;
  const hasMore = open.length > 0;
  const checked = await refusalOf(requirePossible(git, project, worktree, { previous, contents, hasMore, outcome }));
  const squashed = { title, previous, head, since, hasMore };
  return {
    ...seen,
    into,
    files,
    conflicts,
    stoppedAt,
    commits: Math.max(0, commits - (hasMore ? 1 : 0)), // the trial commit is none
    message: method === 'squash' ? await draftSquashMessage(git, project.path, squashed) : null,
    refusal: checked,
  };
}

/** @throws Rejection `merge_refused`, `commit_refused` */
async function requirePossible(
  git: Git,
  project: Project,
  worktree: Worktree,
  plan: { previous: string; contents: WorktreeContents; hasMore: boolean; outcome: MergeOutcome },
): Promise<unknown> {
  const { previous, contents, hasMore, outcome } = plan;
  await requireNoPlaceholders(git, worktree, contents.tree);
  await requireClean(git, project);
  if (outcome.commits > 0) await requireAgreedSigning(git, project.path, 'merge_refused');
  const commit = await trialCommit(git, worktree, contents);
  await requireNothingInTheWay(git, project.path, { previous, commit, outcome });
  return hasMore ? requireCommittable(git, project, worktree, {}) : null;
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
    return await undoProblem(git, project, merge);
  } catch (error) {
    if (error instanceof OperationalError) return messageOf(error);
    throw error;
  }
}

/** Returns why a check refuses; null if it does not. */
async function refusalOf(check: Promise<unknown>): Promise<string | null> {
  const result = await orRefusal(check.then(() => ({})));
  return 'refusal' in result ? result.refusal : null;
}

async function orRefusal<T>(check: Promise<T>): Promise<T | { refusal: string }> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof Rejection) return { refusal: error.message };
    throw error;
  }
}
