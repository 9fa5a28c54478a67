import { z } from 'zod';
import { ObjectId, SeenDiff } from './diff.ts';

/** Where the work of a done stage went. */
export const StageMerge = z.object({
  /** The commit of `into` that brought the work in: a merge commit, or the branch's own if `into` had it already. */
  commit: ObjectId,
  /** The branch that the main checkout was on. */
  into: z.string(),
  /** The stage's branch and its newest commit, which was merged. */
  branch: z.string(),
  head: ObjectId,
  /** The commit that `into` was at before; null if it had the work already. */
  previous: ObjectId.nullable(),
  /** How many commits and files the merge brought in. */
  commits: z.int().nonnegative(),
  files: z.int().nonnegative(),
  at: z.iso.datetime(),
});
export type StageMerge = z.infer<typeof StageMerge>;

/** How the work comes into the branch. */
const MergeMethod = z.enum(['merge', 'squash', 'rebase']);

/** Takes uncommitted work along: commits everything in the worktree that git does not ignore. */
export const CommitOrder = z.strictObject({
  message: z.string().trim().min(1, 'is empty').max(20_000, 'is longer than 20,000 characters'),
});
export type CommitOrder = z.infer<typeof CommitOrder>;

/**
 * With `merge`, merges the stage's branch into the branch that the repository's main checkout is on; also for a stage that is
 * done and was not merged. With `commit`, commits everything uncommitted on the stage's branch first. With `head` and `tree`
 * from the diff, does so only if the worktree still matches them.
 */
export const CompleteBody = z.strictObject({
  merge: z.union([z.boolean(), MergeMethod]).optional(),
  commit: CommitOrder.optional(),
  ...SeenDiff.shape,
});

/** How many uncommitted files a plan names. */
export const NAMED_UNCOMMITTED = 20;

/** What a merge of a stage would do now, uncommitted work included. */
export const MergePlan = z.object({
  branch: z.string(),
  /** As in the diff. */
  head: ObjectId,
  tree: ObjectId,
  /** The branch that the main checkout is on; null if it is on none. */
  into: z.string().nullable(),
  /** How many commits of the branch `into` lacks. */
  commits: z.int().nonnegative(),
  /** How many files the merge would bring in, committed or not. */
  files: z.int().nonnegative(),
  /** The first files with uncommitted changes, and how many there are. */
  uncommitted: z.array(z.string()),
  uncommittedCount: z.int().nonnegative(),
  /** The files in which it would conflict. */
  conflicts: z.array(z.string()),
  /** Why nothing can be merged at the moment, apart from conflicts; null if it can. */
  refusal: z.string().nullable(),
});
export type MergePlan = z.infer<typeof MergePlan>;

/** What completing a stage would do, and whether its completion can be taken back. */
export const Completion = z.object({
  /** Null if the stage was never started, or its worktree and branch are gone. */
  plan: MergePlan.nullable(),
  /** Null while the stage is not done. `refusal` says why the completion cannot be taken back; null if it can. */
  undo: z.object({ refusal: z.string().nullable() }).nullable(),
});
export type Completion = z.infer<typeof Completion>;
