import { access, rm } from 'node:fs/promises';
import type { Worktree } from '@callboard/contract';
import type { Git } from './git/git.ts';

/** Git marks a worktree while it creates it; the mark stays if git is killed meanwhile (git 2.17 and newer). */
const INITIALIZING = 'locked initializing';

/** What git knows about a worktree. `incomplete`: its creation was interrupted, so nobody has worked in it yet. */
export type WorktreeStatus = 'complete' | 'incomplete' | 'unknown';

/** Returns the lines of `git worktree list --porcelain`, by worktree. @throws OperationalError `worktree_failed` */
export async function listWorktrees(git: Git, repository: string): Promise<string[][]> {
  const list = await git.must(repository, ['worktree', 'list', '--porcelain']);
  return list.split('\n\n').map((entry) => entry.split('\n'));
}

/** Returns what git knows about a worktree. @throws OperationalError `worktree_failed` */
export async function worktreeStatus(git: Git, repository: string, path: string): Promise<WorktreeStatus> {
  return statusIn(await listWorktrees(git, repository), path);
}

/** As `worktreeStatus`, by a list that was read before. */
export function statusIn(entries: readonly string[][], path: string): WorktreeStatus {
  const found = entryOf(entries, path);
  if (found === null) return 'unknown';
  return found.includes(INITIALIZING) ? 'incomplete' : 'complete';
}

/** Returns the lines of `git worktree list --porcelain` for a worktree; null if there are none. @throws OperationalError `worktree_failed` */
export async function worktreeEntry(git: Git, repository: string, path: string): Promise<string[] | null> {
  return entryOf(await listWorktrees(git, repository), path);
}

const entryOf = (entries: readonly string[][], path: string): string[] | null =>
  entries.find((lines) => lines.includes(`worktree ${path}`)) ?? null;

/** Whether the branch is checked out anywhere but at `path`: in the main checkout, or by another Callboard. */
export const isCheckedOutElsewhere = (
  entries: readonly string[][],
  { path, branch }: Pick<Worktree, 'path' | 'branch'>,
): boolean =>
  entries.some((lines) => lines.includes(`branch refs/heads/${branch}`) && !lines.includes(`worktree ${path}`));

/** Removes an incomplete worktree; the branch stays. @throws OperationalError `worktree_failed` */
export async function removeIncomplete(git: Git, repository: string, path: string): Promise<void> {
  const isBroken = await access(`${path}/.git`).then(
    () => false,
    () => true,
  );
  // Removes the mark last, so that an interrupted removal finds it again.
  if (!isBroken) return void (await git.must(repository, ['worktree', 'remove', '--force', '--force', path]));
  // Without its `.git` file git does not recognise the folder as a worktree, and would leave it.
  await rm(path, { recursive: true, force: true });
  await git.must(repository, ['worktree', 'unlock', path]);
  await git.must(repository, ['worktree', 'prune']);
}
