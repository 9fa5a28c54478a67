import { relative } from 'node:path';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { listWorktrees } from './worktree-list.ts';

/** A worktree of the repository in the folder of another one, and what only it has, for people. */
interface InnerWork {
  path: string;
  what: string;
}

/**
 * Returns a worktree in this one with work that would be lost with its folder; null if there is none. Claude Code makes such
 * worktrees (`.claude/worktrees`, usually ignored) for subagents, and so does Claude itself.
 * @throws OperationalError `worktree_failed`
 */
export async function innerWork(git: Git, repository: string, path: string): Promise<InnerWork | null> {
  const entries = await listWorktrees(git, repository);
  const inner = entries.flatMap(([first = '']) => (first.startsWith(`worktree ${path}/`) ? [first.slice(9)] : []));
  for (const folder of inner) {
    const what = (await pathExists(folder)) ? await onlyIn(git, repository, folder) : null;
    if (what !== null) return { path: relative(path, folder), what };
  }
  return null;
}

async function onlyIn(git: Git, repository: string, folder: string): Promise<string | null> {
  const status = await git.try(folder, ['status', '--porcelain', '--untracked-files=normal']);
  if (status.failed) return `cannot be read by git (${status.stderr.trim()})`;
  if (status.stdout !== '') return 'has uncommitted changes';
  const head = await git.try(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head.failed) return null; // nothing was ever committed there
  const refs = ['for-each-ref', '--count=1', '--format=%(refname)', '--contains', head.stdout.trim()];
  return (await git.must(repository, refs)) === '' ? 'has commits that are on no branch' : null;
}
