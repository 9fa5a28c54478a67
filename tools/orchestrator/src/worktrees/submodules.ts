import { join } from 'node:path';
import { pathExists } from '../lib/path-exists.ts';
import { nestedRepositories } from './git/command-line.ts';
import type { Git } from './git/git.ts';

/**
 * The folders of repositories inside of this one that have a checkout, relative to the worktree, nested ones too. Git itself is
 * called in each, since it would run itself there with a configuration that nobody looked at.
 */
export async function initializedSubmodules(git: Git, worktree: string): Promise<string[]> {
  const staged = await git.must(worktree, ['ls-files', '--stage', '-z']);
  const found: string[] = [];
  for (const path of nestedRepositories(staged)) {
    if (!(await pathExists(join(worktree, path, '.git')))) continue;
    const nested = await initializedSubmodules(git, join(worktree, path));
    found.push(path, ...nested.map((other) => join(path, other)));
  }
  return found;
}

/**
 * Checks the submodules of a new worktree out, if its project wants that; their addresses are the repository's, and are
 * fetched from. @returns what a person should know: that their folders are empty, and why; null where there is nothing to say.
 */
export async function prepareSubmodules(git: Git, worktree: string, isWanted: boolean): Promise<string | null> {
  if (!(await pathExists(join(worktree, '.gitmodules')))) return null;
  if (!isWanted) {
    return 'This repository has submodules. Their folders are empty in this worktree. To have them checked out in new worktrees, switch on "Check out submodules" in the project\'s settings; or run "git submodule update --init" in the worktree.';
  }
  const updated = await git.try(worktree, ['submodule', 'update', '--init', '--recursive']);
  if (!updated.failed) return null;
  return `The submodules could not be checked out, so their folders may be empty: ${updated.stderr.trim()}`;
}

/** Those with commits that no remote of theirs has: these live in this worktree alone, and would go with it. */
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
