import type { Relays } from './relay.ts';

/** Files of worktrees that were removed. */
export const trashRelays = {
  get_trash: {
    summary: 'What was kept before worktrees were removed, newest first',
    description: 'Each entry stays for 30 days that Callboard has run.',
  },
  restore_trash: {
    isBodyOptional: true,
    summary: 'Moves the files of an entry out of the trash',
    description:
      'Into `folder` (absolute; it is made if need be), else into the worktree of the stage of that id, else into a new folder in the data directory; the reply says which. Where a file of that name is there already nothing is restored.',
    problems: ['unknown_trash', 'would_overwrite'],
  },
} satisfies Relays;
