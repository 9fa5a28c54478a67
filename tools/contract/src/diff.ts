import { z } from 'zod';

/** The id of a commit or a tree, whole. */
export const ObjectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not the full id of a commit or tree');

/** Git's mode of a file: `100644`, `100755` (can be run), `120000` (symbolic link) or `160000` (submodule). */
const FileMode = z.string().nullable();

/** One file of a stage's change. */
export const FileDiff = z.object({
  /** A name that is not UTF-8, or begins with a quotation mark, stands as git quotes it: `"caf\351.txt"`. */
  path: z.string(),
  /** Where a renamed file was before. */
  oldPath: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed']),
  /** What it was and what it is; null where there is none. */
  oldMode: FileMode,
  newMode: FileMode,
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
  /** By its content; attributes of the repository have no say. */
  isBinary: z.boolean(),
  /**
   * The hunks of a unified diff of the two contents, only where one file was asked for; null for binary content, and
   * for a change too long to show. A byte that is not UTF-8 stands as one lone surrogate, U+DC80 to U+DCFF.
   */
  patch: z.string().nullable().optional(),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** A worktree's change, committed or not, against what its branch would be merged into. */
export const StageDiff = z.object({
  /** The commit that it is compared with: the last one that the branch and the main checkout have in common. */
  base: ObjectId,
  branch: z.string(),
  /** The branch's newest commit: what a merge would take. */
  head: ObjectId,
  /** The files with everything uncommitted, as `git add --all` would take them. */
  tree: ObjectId,
  files: z.array(FileDiff),
  /** Paths that git cannot take in, such as files it may not read: they are in no diff and in no merge. */
  unread: z.array(z.string()),
});
export type StageDiff = z.infer<typeof StageDiff>;

/** What somebody saw before they decided to merge. */
export const SeenDiff = z.object({ head: ObjectId.optional(), tree: ObjectId.optional() });
export type SeenDiff = z.infer<typeof SeenDiff>;

/** Which part of a stage's change is asked for. */
export const DiffQuery = z.strictObject({
  /** One file, with its patch. */
  path: z.string().min(1).optional(),
  /** With `path`: between these two, as `get_diff` told them, whatever has changed since. */
  base: ObjectId.optional(),
  tree: ObjectId.optional(),
});
export type DiffQuery = z.infer<typeof DiffQuery>;

/** How much a worktree has changed, committed or not; binary files count as files alone. */
export const ChangeCounts = z.object({
  files: z.int().nonnegative(),
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
});
export type ChangeCounts = z.infer<typeof ChangeCounts>;
