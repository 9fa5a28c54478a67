import { z } from 'zod';
import { ObjectId, SeenDiff } from './changes.ts';
import { GitOperation } from './trash.ts';

/** How the work comes into the branch: with a merge commit, as a single commit, or as copies of its commits on top. */
export const MergeMethod = z.enum(['merge', 'squash', 'rebase']);
export type MergeMethod = z.infer<typeof MergeMethod>;

/** Where the work of a done stage went. */
export const StageMerge = z.object({
  method: MergeMethod.default('merge'),
  /**
   * The commit of `into` that brought the work in: a merge commit, the squashed one, or the newest of the rebased ones. If `into`
   * had the work already, a commit that has it.
   */
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
  /** The pull request by which it was merged on the code host; null if Callboard merged it. */
  pullRequest: z.int().positive().nullable().default(null),
});
export type StageMerge = z.infer<typeof StageMerge>;

const CommitMessage = z.string().trim().min(1, 'is empty').max(20_000, 'is longer than 20,000 characters');

/** Takes uncommitted work along: commits everything in the worktree that git does not ignore. */
export const CommitOrder = z.strictObject({ message: CommitMessage });
export type CommitOrder = z.infer<typeof CommitOrder>;

/**
 * With `merge`, brings the stage's branch into the branch that the repository's main checkout is on; also for a stage that is
 * done and was not merged. `true` means `merge`. With `commit`, commits everything uncommitted on the stage's branch first. With `head` and `tree`
 * from the diff, does so only if the worktree still matches them.
 */
export const CompleteBody = z.strictObject({
  merge: z.union([z.boolean(), MergeMethod]).optional(),
  commit: CommitOrder.optional(),
  /** The message of the commit that a squash makes; by default one drafted from the stage's title and its commits. */
  message: CommitMessage.optional(),
  /** Adds the receipt of the stage to the merge, as a git note in `refs/notes/callboard`. */
  receipt: z.boolean().optional(),
  ...SeenDiff.shape,
});

/** The way of merging that a preview is about; by default a merge commit. */
export const CompletionQuery = z.strictObject({ method: MergeMethod.optional() });

/** How many uncommitted files a plan names. */
export const NAMED_UNCOMMITTED = 20;

/** With `head` from `elsewhere`, does so only if the worktree is still there. */
export const BranchBody = z.strictObject({ head: ObjectId.optional() });

/** A worktree that is not on the stage's branch. */
export const Elsewhere = z.object({
  /** The stage's branch, and its newest commit; null if the branch is gone. */
  own: z.string(),
  tip: ObjectId.nullable(),
  /** The branch that the worktree is on; null if it is on none. */
  branch: z.string().nullable(),
  head: ObjectId,
  /** What git has begun there and not ended. */
  operation: GitOperation.nullable(),
  /** Commits there that the stage's branch lacks, and commits of the stage's branch that are missing there. */
  commits: z.int().nonnegative(),
  missing: z.int().nonnegative(),
  /** Files with uncommitted changes there. */
  uncommitted: z.int().nonnegative(),
});
export type Elsewhere = z.infer<typeof Elsewhere>;

/** What a merge of a stage would do now, uncommitted work included. */
export const MergePlan = z.object({
  method: MergeMethod.default('merge'),
  branch: z.string(),
  /** As in the diff. */
  head: ObjectId,
  tree: ObjectId,
  /** The branch that the main checkout is on; null if it is on none. */
  into: z.string().nullable(),
  /** How many commits of the branch `into` lacks; with a rebase, how many it would get. */
  commits: z.int().nonnegative(),
  /** How many files the merge would bring in, committed or not. */
  files: z.int().nonnegative(),
  /** The first files with uncommitted changes, and how many there are. */
  uncommitted: z.array(z.string()),
  uncommittedCount: z.int().nonnegative(),
  /** Files of the branch that are only placeholders of Claude Code's sandbox, committed by mistake; see `take_out_placeholders`. */
  placeholders: z.array(z.string()).default([]),
  /** The files in which it would conflict. */
  conflicts: z.array(z.string()),
  /** The first commit whose changes conflict, if they are applied one by one. */
  stoppedAt: z.object({ commit: ObjectId, subject: z.string() }).nullable().default(null),
  /** The drafted message of the commit that a squash would make. */
  message: z.string().nullable().default(null),
  /** Why nothing can be merged at the moment, apart from conflicts; null if it can. */
  refusal: z.string().nullable(),
  /** Set if the worktree is not on the stage's branch. If it is at another commit, too, that is the refusal. */
  elsewhere: Elsewhere.nullable().default(null),
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
