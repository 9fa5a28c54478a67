import type { Relays } from './relay.ts';

/** Files kept from removed worktrees. */
export const trashRelays = {
  get_trash: {
    summary: 'List trash entries, newest first',
    description: 'Each entry holds the files kept from a removed worktree, for 30 days of Callboard’s running time.',
  },
  restore_trash: {
    isBodyOptional: true,
    summary: 'Restore the files of a trash entry',
    description:
      'Into `folder` (absolute; created if missing), else into the worktree of the stage with that id, else into a new folder in the data directory; the reply says which. If a file of the same name exists, nothing is restored.',
    problems: ['unknown_trash', 'would_overwrite'],
  },
} satisfies Relays;
