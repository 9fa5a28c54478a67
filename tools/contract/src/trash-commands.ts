import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { ProjectId } from './ids.ts';
import { BuildFolders, ProjectWorktree, SavedFile, TrashEntry, WorktreeCleanUp } from './trash.ts';

const ofWorktree = z.object({ projectId: ProjectId, name: z.string().min(1).max(200) });

/** Commands about worktrees that nobody needs, and about what was kept of them. */
export const trashCommands = {
  /** Lists the worktrees of a project, and measures those whose size is unknown or old; `isMeasuring` until that is done. */
  get_worktrees: {
    route: 'GET /api/projects/:projectId/worktrees',
    runs: 'project',
    time: 'slow',
    input: z.object({ projectId: ProjectId }),
    reply: z.object({ worktrees: z.array(ProjectWorktree), isMeasuring: z.boolean() }),
  },
  /** Returns what `clean_worktree` would do now. */
  get_worktree_clean_up: {
    route: 'GET /api/projects/:projectId/worktrees/:name/clean-up',
    runs: 'project',
    time: 'slow',
    input: ofWorktree,
    reply: z.object({ cleanUp: WorktreeCleanUp }),
  },
  /** Removes the worktree of a done or deleted stage. What is neither committed nor merged goes to the trash first. */
  clean_worktree: {
    route: 'POST /api/projects/:projectId/worktrees/:name/clean-up',
    runs: 'project',
    time: 'slow',
    input: ofWorktree.extend({ buildFolders: BuildFolders.optional() }),
    reply: z.object({
      /** The new trash entry; null if there was nothing to keep. */
      kept: TrashEntry.nullable(),
      /** The folders of dependencies and build results that were deleted permanently. */
      deleted: z.array(SavedFile),
    }),
    isBodyOptional: true,
  },
  /** Lists the trash, newest first. */
  get_trash: {
    route: 'GET /api/trash',
    runs: 'here',
    input: z.object({}),
    reply: z.object({ entries: z.array(TrashEntry) }),
  },
  /** Restores to `folder`. Without one: to the stage's worktree, or to a new folder if there is none. Overwrites nothing. */
  restore_trash: {
    route: 'POST /api/trash/:trashId/restore',
    runs: 'here',
    time: 'slow',
    input: z.object({ trashId: z.uuid(), folder: z.string().trim().min(1).max(4_000).optional() }),
    reply: z.object({
      folder: z.string(),
      files: z.array(SavedFile),
      fileCount: z.int().nonnegative(),
      /** The branch of the worktree that kept work was restored into; null if there was no work. */
      branch: z.string().nullable(),
    }),
    isBodyOptional: true,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const trashDocs = (): DocsOf<typeof trashCommands> => {
  const { project } = the;

  return {
    get_worktrees: {
      tag: 'trash',
      summary: 'List the worktrees of a project with their sizes',
      description:
        'Also those whose stage was deleted. Sizes are measured in the background and kept for ten minutes: `measuredAt` says when, and `isMeasuring` whether to ask again.',
      problems: ['unknown_project'],
      example: {
        input: { projectId: project.id },
        reply: { worktrees: [the.worktree], isMeasuring: false },
      },
    },
    get_worktree_clean_up: {
      tag: 'trash',
      summary: 'Preview the clean-up of a worktree',
      problems: ['unknown_project', 'unknown_worktree'],
      example: {
        input: { projectId: project.id, name: the.worktree.name },
        reply: { cleanUp: the.cleanUp },
      },
    },
    clean_worktree: {
      tag: 'trash',
      summary: 'Clean up the worktree of a done or deleted stage',
      description:
        'Removes its folder. Uncommitted and unmerged work, and commits that only the reflog of the worktree has, are kept as a commit on `refs/callboard/trash/<stage>/<date>` first, and files that no commit can keep go to the trash, for 30 days of Callboard’s running time. The branch of a stage stays. `buildFolders: "delete"` deletes dependency and build folders permanently.',
      problems: ['unknown_project', 'unknown_worktree', 'worktree_stays', 'stage_running'],
      example: {
        input: { projectId: project.id, name: the.worktree.name, buildFolders: 'delete' },
        reply: { kept: the.trashEntry, deleted: the.removal.buildFolders },
      },
    },
    get_trash: {
      tag: 'trash',
      summary: 'List trash entries, newest first',
      description:
        'Each entry holds what was kept from a removed worktree, for 30 days of Callboard’s running time: its files, and in `work` the commit with its unfinished work.',
      example: { input: {}, reply: { entries: [the.trashEntry] } },
    },
    restore_trash: {
      tag: 'trash',
      summary: 'Restore the files of a trash entry',
      description:
        'Into `folder` (absolute; created if missing), else into the worktree of the stage with that id, else into a new folder in the data directory; the reply says which. If a file of the same name exists, nothing is restored. Kept work comes back as a worktree with the changes uncommitted, on the branch of the stage if that has not moved, else on a new one.',
      problems: ['unknown_trash', 'would_overwrite'],
      example: {
        input: { trashId: the.trashEntry.id, folder: '/repos/restored' },
        reply: {
          folder: '/repos/restored',
          files: the.trashEntry.files,
          fileCount: the.trashEntry.fileCount,
          branch: 'callboard/restored-STAGE-1',
        },
      },
    },
  };
};
