import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

/** A file, or a whole folder, by its path in the worktree. */
export const KeptFile = z.object({ path: z.string(), bytes: z.int().nonnegative() });
export type KeptFile = z.infer<typeof KeptFile>;

/** How many files are named where there may be any number of them; counts and sizes are of all. */
export const NAMED_FILES = 200;

/** What would become of a stage's worktree if the stage were deleted now. */
export const Removal = z.object({
  /** Its path; null: there is none. */
  worktree: z.string().nullable(),
  /** Why the worktree would stay where it is, with all that is in it; null: it would be removed. */
  left: z.string().nullable(),
  /** Ignored files that would go to the trash; of those that Callboard copied in, only the ones that differ by now. */
  files: z.array(KeptFile),
  fileCount: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** Folders of dependencies and build results, which a tool can make again. */
  buildFolders: z.array(KeptFile),
  /** `isKept`: it has work that is not merged. Null: there is no branch. */
  branch: z.object({ name: z.string(), isKept: z.boolean() }).nullable(),
});
export type Removal = z.infer<typeof Removal>;

/** What becomes of folders of dependencies and build results: into the trash with the rest, or deleted for good. */
export const BuildFolders = z.enum(['keep', 'delete']);
export type BuildFolders = z.infer<typeof BuildFolders>;

/** What was kept before a worktree was removed. */
export const TrashEntry = z.object({
  id: z.uuid(),
  projectId: ProjectId,
  projectName: z.string(),
  stageId: StageId,
  stageTitle: z.string(),
  /** Who deleted it. */
  by: z.string().nullable(),
  at: z.iso.datetime(),
  /** Not deleted before this. */
  expiresAt: z.iso.datetime(),
  files: z.array(KeptFile),
  fileCount: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** The worktree that it would be restored into: that of a stage of the same id. Null: into a folder of its own. */
  worktree: z.string().nullable(),
});
export type TrashEntry = z.infer<typeof TrashEntry>;
