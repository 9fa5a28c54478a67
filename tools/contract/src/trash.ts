import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

/** A process that outlived the session that started it. */
export const LeftProcess = z.object({
  pid: z.int().positive(),
  /** Its command line, cut if it is long. */
  command: z.string(),
  startedAt: z.iso.datetime(),
});
export type LeftProcess = z.infer<typeof LeftProcess>;

/** A file, or a whole folder, by its path in the worktree. */
export const SavedFile = z.object({ path: z.string(), bytes: z.int().nonnegative() });
export type SavedFile = z.infer<typeof SavedFile>;

/** The limit of files in a list; counts and sizes include all files. */
export const NAMED_FILES = 200;

/** A file or folder of a worktree that a commit of its files does not have. */
export const NotSaved = z.object({
  path: z.string(),
  /** `nested-repository`: a repository in the worktree, or a submodule with changes. `too-large`: larger than 50 MB. */
  reason: z.enum(['ignored', 'nested-repository', 'too-large', 'unreadable']),
  /** The size of a file that is too large; otherwise null. */
  bytes: z.int().nonnegative().nullable(),
});
export type NotSaved = z.infer<typeof NotSaved>;

/** What git has begun in a worktree and not ended. */
export const GitOperation = z.enum(['rebase', 'am', 'merge', 'cherry-pick', 'revert', 'bisect']);
export type GitOperation = z.infer<typeof GitOperation>;

/** Work of a worktree beside its own branch. */
export const UnreferencedWork = z.object({
  /** The branch that the worktree is on; null if it is on none. */
  branch: z.string().nullable(),
  /** Commits of its `HEAD`, or of what is half done there, that no branch or tag has. */
  commits: z.int().nonnegative(),
  /** Commits that only its reflog, or that of its branch, still has: amended, rebased or reset. */
  earlier: z.int().nonnegative(),
  operation: GitOperation.nullable(),
  /** Other branches that it was on, with how many commits the branch of the main checkout lacks. They stay. */
  branches: z.array(z.object({ name: z.string(), commits: z.int().nonnegative() })),
  /** Stashes that were made in it, as git names them. They stay in the repository. */
  stashes: z.array(z.string()),
});
export type UnreferencedWork = z.infer<typeof UnreferencedWork>;

/** What deleting a stage would do to its worktree now. */
export const Removal = z.object({
  /** The worktree's path; null if there is none. */
  worktree: z.string().nullable(),
  /** Why the worktree would stay with all its contents; null if it would be removed. */
  left: z.string().nullable(),
  /** Ignored files that would go to the trash; of files that Callboard copied, only those that have changed. */
  files: z.array(SavedFile),
  fileCount: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** Dependency and build folders, which a tool can recreate. */
  buildFolders: z.array(SavedFile),
  /** `isSaved`: it has unmerged work. Null if there is no branch. */
  branch: z.object({ name: z.string(), isKept: z.boolean() }).nullable(),
  /** Work beside the branch: what no ref has would go to the trash. Null if there is none. */
  loose: UnreferencedWork.nullable().default(null),
  /** Processes that Claude's commands left running. Deleting the stage does not end them, and nobody lists them afterwards. */
  running: z.array(LeftProcess).optional(),
});
export type Removal = z.infer<typeof Removal>;

/** What to do with dependency and build folders: keep them in the trash, or delete them permanently. */
export const BuildFolders = z.enum(['keep', 'delete']);
export type BuildFolders = z.infer<typeof BuildFolders>;

/** Work of a worktree that was neither committed nor merged, kept as a commit in its repository. */
export const SavedWork = z.object({
  /** The ref that keeps it, `refs/callboard/trash/<stage>/<date>`. */
  ref: z.string(),
  commit: z.string(),
  /** The branch that the worktree was on; null if it was on none. */
  branch: z.string().nullable(),
  /** Files with uncommitted changes. */
  uncommitted: z.int().nonnegative(),
  /** Commits that were not in the branch of the main checkout. */
  unmerged: z.int().nonnegative(),
  /** Further commits that only a reflog had: amended, rebased or reset. */
  earlier: z.int().nonnegative().default(0),
});
export type SavedWork = z.infer<typeof SavedWork>;

/** A worktree of a project. */
export const ProjectWorktree = z.object({
  /** The name of its folder, which identifies it in its project. */
  name: z.string(),
  path: z.string(),
  /** Null if its stage was deleted, together with its title. */
  stageId: StageId.nullable(),
  stageTitle: z.string().nullable(),
  /** Why it cannot be cleaned up now; null if it can. */
  stays: z.string().nullable(),
  /** What it takes on the disk; null until it was measured. */
  bytes: z.int().nonnegative().nullable(),
  measuredAt: z.iso.datetime().nullable(),
});
export type ProjectWorktree = z.infer<typeof ProjectWorktree>;

/** What a clean-up of a worktree would do now. */
export const WorktreeCleanUp = z.object({
  path: z.string(),
  /** Why the worktree would stay; null if it would be removed. */
  left: z.string().nullable(),
  /** Null if all its work is merged, or if it stays. */
  work: SavedWork.omit({ ref: true, commit: true }).nullable(),
  /** Files that no commit can keep, which would go to the trash: ignored ones, nested repositories, files above 50 MB. */
  files: z.array(SavedFile),
  fileCount: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** Dependency and build folders, which a tool can recreate. */
  buildFolders: z.array(SavedFile),
});
export type WorktreeCleanUp = z.infer<typeof WorktreeCleanUp>;

/** What was kept from a removed worktree. */
export const TrashEntry = z.object({
  id: z.uuid(),
  projectId: ProjectId,
  projectName: z.string(),
  stageId: StageId,
  stageTitle: z.string(),
  /** Who deleted it. */
  by: z.string().nullable(),
  at: z.iso.datetime(),
  /** It is kept at least until then. */
  expiresAt: z.iso.datetime(),
  files: z.array(SavedFile),
  fileCount: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** Null if there was none to keep. */
  work: SavedWork.nullable().default(null),
  /** The worktree that it would be restored into, of the stage with the same id; null: into a new folder. */
  worktree: z.string().nullable(),
});
export type TrashEntry = z.infer<typeof TrashEntry>;
