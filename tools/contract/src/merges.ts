import { z } from 'zod';
import { ObjectId } from './diff.ts';

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
