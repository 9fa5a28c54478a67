import type { StageMerge, Worktree } from '@callboard/contract';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';

/**
 * Returns the newest recorded squash or rebase that `into` still has and `head` builds on: all of the branch's work up to the
 * merge's `head` is in `into`. Null if there is none.
 */
export async function newestMerge(
  git: Git,
  folder: string,
  { merges = [] }: Pick<Worktree, 'merges'>,
  { into, head }: { into: string; head: string },
): Promise<StageMerge | null> {
  for (const merge of [...merges].reverse())
    if ((await isIn(git, folder, merge.commit, into)) && (await isIn(git, folder, merge.head, head))) return merge;
  return null;
}

/** Whether a commit is another one, or comes before it. */
export const isIn = async (git: Git, folder: string, commit: string, other: string): Promise<boolean> =>
  !(await git.try(folder, ['merge-base', '--is-ancestor', commit, other], NO_REPLACEMENTS)).failed;
