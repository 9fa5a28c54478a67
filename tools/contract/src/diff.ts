import { z } from 'zod';

/** One file of a stage's change. */
export const FileDiff = z.object({
  path: z.string(),
  /** Where a renamed file was before. */
  oldPath: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed']),
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
  isBinary: z.boolean(),
  /** Unified diff; null for a binary file, or one whose diff is too long to show. */
  patch: z.string().nullable(),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** A worktree's change against its base, committed or not. */
export const StageDiff = z.object({ base: z.string(), branch: z.string(), files: z.array(FileDiff) });
export type StageDiff = z.infer<typeof StageDiff>;

/** How much a worktree has changed against its base, committed or not; binary files count as files alone. */
export const ChangeCounts = z.object({
  files: z.int().nonnegative(),
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
});
export type ChangeCounts = z.infer<typeof ChangeCounts>;
