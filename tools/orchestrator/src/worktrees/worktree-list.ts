import { access, rm } from 'node:fs/promises';
import type { Git } from './git/git.ts';

/** The mark that git puts on a worktree while it makes it; it stays where git is killed meanwhile (git 2.17 and newer). */
const INITIALIZING = 'locked initializing';

/** What git knows of a worktree. `half-made`: its checkout was cut off, so that nobody has worked in it yet. */
export async function worktreeStatus(
  git: Git,
  repository: string,
  path: string,
): Promise<'complete' | 'incomplete' | 'unknown'> {
  const found = await worktreeEntry(git, repository, path);
  if (found === null) return 'unknown';
  return found.includes(INITIALIZING) ? 'incomplete' : 'complete';
}

/** The lines that `git worktree list --porcelain` has of a worktree; null where it has none. @throws OperationalError `worktree_failed` */
export async function worktreeEntry(git: Git, repository: string, path: string): Promise<string[] | null> {
  const list = await git.must(repository, ['worktree', 'list', '--porcelain']);
  const entries = list.split('\n\n').map((entry) => entry.split('\n'));
  return entries.find((lines) => lines.includes(`worktree ${path}`)) ?? null;
}

/** Removes what git left of a worktree that it was making; the branch stays. @throws OperationalError `worktree_failed` */
export async function removeIncomplete(git: Git, repository: string, path: string): Promise<void> {
  const isBroken = await access(`${path}/.git`).then(
    () => false,
    () => true,
  );
  // The mark goes last: whoever is ended in the middle of this finds it again.
  if (!isBroken) return void (await git.must(repository, ['worktree', 'remove', '--force', '--force', path]));
  // Without its `.git` file git does not take the folder for a worktree, and would leave it.
  await rm(path, { recursive: true, force: true });
  await git.must(repository, ['worktree', 'unlock', path]);
  await git.must(repository, ['worktree', 'prune']);
}
