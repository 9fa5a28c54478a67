import { join } from 'node:path';
import { pathExists } from '../lib/path-exists.ts';
import { nestedRepositories } from './git/command-line.ts';
import type { Git } from './git/git.ts';

/**
 * Returns the folders of nested repositories with a checkout, relative to the worktree, at any depth. We call git in each
 * ourselves; otherwise git would run itself there with a configuration that nobody has checked.
 */
export async function initializedSubmodules(git: Git, worktree: string): Promise<string[]> {
  const staged = await git.must(worktree, ['ls-files', '--stage', '-z']);
  const found: string[] = [];
  for (const path of nestedRepositories(staged).keys()) {
    if (!(await pathExists(join(worktree, path, '.git')))) continue;
    const nested = await initializedSubmodules(git, join(worktree, path));
    found.push(path, ...nested.map((other) => join(path, other)));
  }
  return found;
}

/**
 * Checks out the submodules of a new worktree if the project wants that, which fetches from the repository's URLs.
 * @returns a notice for people that their folders are empty, and why; null if there is nothing to say
 */
export async function prepareSubmodules(git: Git, worktree: string, isWanted: boolean): Promise<string | null> {
  if (!(await pathExists(join(worktree, '.gitmodules')))) return null;
  if (!isWanted) {
    return 'This repository has submodules. Their folders are empty in this worktree. To check them out in new worktrees, switch on "Check out submodules" in the project\'s settings, or run "git submodule update --init" in the worktree.';
  }
  const updated = await git.try(worktree, ['submodule', 'update', '--init', '--recursive']);
  if (!updated.failed) return null;
  return `The submodules could not be checked out, so their folders may be empty: ${updated.stderr.trim()}`;
}

/** Returns the submodules with commits that no remote has: those exist only in this worktree and would be lost with it. */
export async function unpushedSubmodules(git: Git, worktree: string): Promise<string[]> {
  const unpushed: string[] = [];
  for (const path of await initializedSubmodules(git, worktree)) {
    const own = await git.try(join(worktree, path), [
      'log',
      '--oneline',
      '-1',
      'HEAD',
      '--branches',
      '--not',
      '--remotes',
    ]);
    if (own.failed || own.stdout.trim() !== '') unpushed.push(path);
  }
  return unpushed;
}
