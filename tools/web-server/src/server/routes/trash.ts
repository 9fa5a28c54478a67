import type { Relays } from './relay.ts';

/** Worktrees that are no longer needed, and what was kept of them. */
export const trashRelays = {
  get_worktrees: {
    summary: 'List the worktrees of a project with their sizes',
    description:
      'Also those whose stage was deleted. Sizes are measured in the background and kept for ten minutes: `measuredAt` says when, and `isMeasuring` whether to ask again.',
    problems: ['unknown_project'],
  },
  get_worktree_clean_up: {
    summary: 'Preview the clean-up of a worktree',
    problems: ['unknown_project', 'unknown_worktree'],
  },
  clean_worktree: {
    isBodyOptional: true,
    summary: 'Clean up the worktree of a done or deleted stage',
    description:
      'Removes its folder. Uncommitted and unmerged work, and commits that only the reflog of the worktree has, are kept as a commit on `refs/callboard/trash/<stage>/<date>` first, and files that no commit can keep go to the trash, for 30 days of Callboard’s running time. The branch of a stage stays. `buildFolders: "delete"` deletes dependency and build folders permanently.',
    problems: ['unknown_project', 'unknown_worktree', 'worktree_stays', 'stage_running'],
  },
  get_trash: {
    summary: 'List trash entries, newest first',
    description:
      'Each entry holds what was kept from a removed worktree, for 30 days of Callboard’s running time: its files, and in `work` the commit with its unfinished work.',
  },
  restore_trash: {
    isBodyOptional: true,
    summary: 'Restore the files of a trash entry',
    description:
      'Into `folder` (absolute; created if missing), else into the worktree of the stage with that id, else into a new folder in the data directory; the reply says which. If a file of the same name exists, nothing is restored. Kept work comes back as a worktree with the changes uncommitted, on the branch of the stage if that has not moved, else on a new one.',
    problems: ['unknown_trash', 'would_overwrite'],
  },
} satisfies Relays;
