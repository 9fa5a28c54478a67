import { z } from 'zod';

/** The full id of a commit or a tree. */
export const ObjectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not the full id of a commit or tree');

/** Git's mode of a file: `100644`, `100755` (executable), `120000` (symbolic link) or `160000` (submodule). */
const FileMode = z.string().nullable();

/** One file of a stage's change. */
export const FileDiff = z.object({
  /** A name that is not UTF-8, or begins with a quotation mark, is quoted as git does it: `"caf\351.txt"`. */
  path: z.string(),
  /** The former path of a renamed file. */
  oldPath: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed']),
  /** The modes before and after; null if the file does not exist there. */
  oldMode: FileMode,
  newMode: FileMode,
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
  /** Judged by its content; attributes of the repository are ignored. */
  isBinary: z.boolean(),
  /** Names the two contents, `<old>..<new>`: it changes when the file does. */
  version: z.string().default(''),
  /** Made by a program: a lock file, a minified file, or one that the base commit's attributes call `linguist-generated`. */
  isGenerated: z.boolean().default(false),
  /**
   * The hunks of a unified diff, only if one file was requested; null for binary content and for a change that is too long
   * to show. A byte that is not UTF-8 becomes a lone surrogate, U+DC80 to U+DCFF.
   */
  patch: z.string().nullable().optional(),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** A commit of a stage's branch. */
export const BranchCommit = z.object({
  id: ObjectId,
  subject: z.string(),
  author: z.string(),
  at: z.iso.datetime({ offset: true }),
});
export type BranchCommit = z.infer<typeof BranchCommit>;

/** A worktree's changes, committed or not, compared with the branch that it would be merged into. */
export const StageDiff = z.object({
  /** What they are compared with: the last commit that the branch and the main checkout share, or what a `range` begins at. */
  base: ObjectId,
  branch: z.string(),
  /** The branch's newest commit, which a merge would take. */
  head: ObjectId,
  /** The files with all uncommitted changes, as `git add --all` would stage them. */
  tree: ObjectId,
  files: z.array(FileDiff),
  /** Paths that git cannot add, for example because it may not read them; they are in no diff and in no merge. */
  unread: z.array(z.string()),
  /** The branch's own commits, newest first; at most 100. Empty if one file or a range was requested. */
  commits: z.array(BranchCommit).default([]),
  /** With the range `turn`: when the files were as in `base`; null if that is where the stage began. */
  since: z.iso.datetime().nullable().default(null),
});
export type StageDiff = z.infer<typeof StageDiff>;

/** The commit and files that a person saw before they decided to merge. */
export const SeenDiff = z.object({ head: ObjectId.optional(), tree: ObjectId.optional() });
export type SeenDiff = z.infer<typeof SeenDiff>;

/** Selects a part of a stage's changes. */
export const DiffQuery = z.strictObject({
  /** One file, with its patch. */
  path: z.string().min(1).optional(),
  /** With `path`: compares these two, as `get_diff` returned them, whatever has changed since. */
  base: ObjectId.optional(),
  tree: ObjectId.optional(),
  /** `turn`: what has changed since the last turn began. A commit: what that commit changed. All since the base if left out. */
  range: z.union([z.literal('turn'), ObjectId]).optional(),
  /** With `path`: the changes with three lines around them, or with the whole file around them. */
  context: z.enum(['hunks', 'whole']).optional(),
});
export type DiffQuery = z.infer<typeof DiffQuery>;

/** The amount of changes in a worktree, committed or not; binary files count as files only. */
export const ChangeCounts = z.object({
  files: z.int().nonnegative(),
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
});
export type ChangeCounts = z.infer<typeof ChangeCounts>;

/** Counts the changes of these files. */
export const countOf = ({ files }: Pick<StageDiff, 'files'>): ChangeCounts => ({
  files: files.length,
  additions: files.reduce((sum, file) => sum + file.additions, 0),
  deletions: files.reduce((sum, file) => sum + file.deletions, 0),
});

/** Selects a file of a diff. */
export const ContentQuery = z.strictObject({ path: z.string().min(1), base: ObjectId, tree: ObjectId });
export type ContentQuery = z.infer<typeof ContentQuery>;

/** The content of a file before or after a change. */
export const FileContent = z.object({
  bytes: z.int().nonnegative(),
  /**
   * Judged by its first bytes, whatever the file is called; null if it is none of these images. An SVG may hold scripts and
   * links: show it in an `<img>` from a `data:` URL only, where it runs and loads nothing.
   */
  mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml']).nullable(),
  /** Of an image of at most 8 MiB, or a drawing (SVG) of at most 1 MiB. */
  dataBase64: z.string().nullable(),
});
export type FileContent = z.infer<typeof FileContent>;
