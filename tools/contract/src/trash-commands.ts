import { z } from 'zod';
import { ProjectId } from './ids.ts';
import { BuildFolders, KeptFile, ProjectWorktree, TrashEntry, WorktreeCleanUp } from './trash.ts';

const ofWorktree = z.object({ projectId: ProjectId, name: z.string().min(1).max(200) });

/** Commands about worktrees that nobody needs, and about what was kept of them. */
export const trashCommands = {
  /** Lists the worktrees of a project, and measures those whose size is unknown or old; `isMeasuring` until that is done. */
  get_worktrees: {
    time: 'slow',
    input: z.object({ projectId: ProjectId }),
    reply: z.object({ worktrees: z.array(ProjectWorktree), isMeasuring: z.boolean() }),
  },
  /** Returns what `clean_worktree` would do now. */
  get_worktree_clean_up: { time: 'slow', input: ofWorktree, reply: z.object({ cleanUp: WorktreeCleanUp }) },
  /** Removes the worktree of a done or deleted stage. What is neither committed nor merged goes to the trash first. */
  clean_worktree: {
    time: 'slow',
    input: ofWorktree.extend({ buildFolders: BuildFolders.optional() }),
    reply: z.object({
      /** The new trash entry; null if there was nothing to keep. */
      kept: TrashEntry.nullable(),
      /** The folders of dependencies and build results that were deleted permanently. */
      deleted: z.array(KeptFile),
    }),
  },
  /** Lists the trash, newest first. */
  get_trash: { input: z.object({}), reply: z.object({ entries: z.array(TrashEntry) }) },
  /** Restores to `folder`. Without one: to the stage's worktree, or to a new folder if there is none. Overwrites nothing. */
  restore_trash: {
    time: 'slow',
    input: z.object({ trashId: z.uuid(), folder: z.string().trim().min(1).max(4_000).optional() }),
    reply: z.object({
      folder: z.string(),
      files: z.array(KeptFile),
      fileCount: z.int().nonnegative(),
      /** The branch of the worktree that kept work was restored into; null if there was no work. */
      branch: z.string().nullable(),
    }),
  },
} as const;
