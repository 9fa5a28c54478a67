import type { BranchList, Project, Stage } from '@callboard/contract';
import { OperationalError, Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';

/** Where a stage's branch begins, and its name, as a person chose them; null is the default. */
export type StartPoint = Pick<Stage, 'base' | 'branch'>;

/**
 * Resolves if a stage may begin like this now.
 * @throws Rejection `unknown_base`, `bad_branch`, `branch_taken`
 */
export async function requireStartPoint(git: Git, { path }: Pick<Project, 'path'>, wanted: StartPoint): Promise<void> {
  const { base, branch } = wanted;
  if (base !== null && (await commitAt(git, path, base)) === null) {
    const advice = 'Choose one that "git branch --all" or "git log" lists; fetch it first if needed.';
    throw new Rejection('unknown_base', `The repository has no branch, tag or commit "${base}". ${advice}`);
  }
  if (branch === null) return;
  if (!(await isBranchName(git, path, branch))) {
    const rule = 'Use letters, digits, "-", "_", "." and "/", and neither spaces nor "..".';
    throw new Rejection('bad_branch', `Git does not accept "${branch}" as the name of a branch. ${rule}`);
  }
  const other = await conflictingBranch(git, path, branch);
  if (other === null) return;
  const why = other === branch ? 'exists already' : `cannot exist beside ${other}`;
  throw new Rejection('branch_taken', `The branch ${branch} ${why}. Choose another name for the stage's branch.`);
}

/** Returns the commit that a new branch begins at. @throws OperationalError `worktree_failed` */
export async function startCommit(git: Git, { path }: Pick<Project, 'path'>, base: string | null): Promise<string> {
  if (base === null) return git.must(path, ['rev-parse', 'HEAD']);
  const commit = await commitAt(git, path, base);
  if (commit !== null) return commit;
  const message = `The repository no longer has "${base}", which the stage starts from. Edit the stage and choose another base, then start it.`;
  throw new OperationalError('worktree_failed', message);
}

/** Lists the branches to begin at. @throws OperationalError `worktree_failed` */
export async function branchesOf(git: Git, { path }: Pick<Project, 'path'>): Promise<BranchList> {
  const current = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  const format = ['--sort=-committerdate', '--format=%(refname:short)'];
  const listed = await git.must(path, ['for-each-ref', ...format, 'refs/heads/']);
  return {
    current: current.failed ? null : current.stdout.trim(),
    branches: listed.split('\n').filter((name) => name !== ''),
  };
}

/** A name that begins with a dash would be read as an option; git has no branch, tag or commit of such a name. */
async function commitAt(git: Git, path: string, revision: string): Promise<string | null> {
  if (revision.startsWith('-') || revision.startsWith('^')) return null;
  const found = await git.try(path, ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`]);
  return found.failed ? null : found.stdout.trim();
}

async function isBranchName(git: Git, path: string, name: string): Promise<boolean> {
  if (name.startsWith('-') || name === 'HEAD' || name === '@') return false;
  if ((await git.try(path, ['check-ref-format', `refs/heads/${name}`])).failed) return false;
  const read = await git.try(path, ['check-ref-format', '--branch', name]); // "@{-1}" means another branch
  return !read.failed && read.stdout.trim() === name;
}

/** Returns the existing branch that leaves no room for this one: itself, or one of which either name is a folder. */
async function conflictingBranch(git: Git, path: string, name: string): Promise<string | null> {
  const { branches } = await branchesOf(git, { path });
  const isInside = (one: string, folder: string) => one.startsWith(`${folder}/`);
  return branches.find((one) => one === name || isInside(one, name) || isInside(name, one)) ?? null;
}

/** Returns the commit of a branch; null if there is no such branch. */
export async function tipOf(git: Git, project: Pick<Project, 'path'>, branch: string): Promise<string | null> {
  const tip = await git.try(project.path, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  return tip.failed ? null : tip.stdout.trim();
}
