import { z } from 'zod';

/** A folder on the machine of the orchestrator, for choosing a repository. */
export const Folder = z.object({
  name: z.string(),
  /** Absolute. */
  path: z.string(),
  /** Whether it is the top of a git checkout. */
  isRepository: z.boolean(),
});
export type Folder = z.infer<typeof Folder>;

/** The folders within a folder: repositories first, then by name. */
export const FolderList = z.object({
  /** The folder itself. */
  folder: Folder,
  /** The path of the folder that contains it; null at the top. */
  parent: z.string().nullable(),
  folders: z.array(Folder),
  /** Whether there are more than are listed. */
  isCut: z.boolean(),
});
export type FolderList = z.infer<typeof FolderList>;

export const FoldersQuery = z.strictObject({
  /** Absolute, or from the home folder with `~`, which is the default. */
  path: z.string().trim().min(1).max(4_096).optional(),
});
