import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { TRIAL_COMMIT } from './merge-plan.ts';

/** The result of a merge of two commits that nothing was checked out for. */
export interface ThreeWayMerge {
  /** The merged tree; null if git cannot tell without merging, and then `failure` is git's reason. */
  tree: string | null;
  conflicts: string[];
  failure: string;
}

/** Merges two commits into a tree; only adds objects. Needs git 2.38. */
export async function mergeTrees(git: Git, folder: string, ours: string, theirs: string): Promise<ThreeWayMerge> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', ours, theirs];
  const tried = await git.try(folder, args, NO_REPLACEMENTS);
  const [tree = '', ...files] = tried.stdout.trim().split('\n');
  if (!/^[0-9a-f]{40,}$/.test(tree)) return { tree: null, conflicts: [], failure: tried.stderr };
  return { tree, conflicts: tried.failed ? files : [], failure: '' };
}

/**
 * As `mergeTrees`, with a tree instead of our commit, and with `base` as the common ancestor, which `theirs` must descend from.
 * @throws Rejection `merge_refused` if git cannot do that
 */
export async function mergeOnto(
  git: Git,
  folder: string,
  { base, tree, theirs }: { base: string; tree: string; theirs: string },
): Promise<{ tree: string; conflicts: string[] }> {
  const env = { ...NO_REPLACEMENTS, ...TRIAL_COMMIT };
  const ours = await git.must(folder, ['commit-tree', tree, '-p', base, '-m', 'The target'], env);
  return requireMergedTree(git, folder, ours, theirs);
}

/** As `mergeTrees`. @throws Rejection `merge_refused` if git cannot merge without a checkout */
export async function requireMergedTree(
  git: Git,
  folder: string,
  ours: string,
  theirs: string,
): Promise<{ tree: string; conflicts: string[] }> {
  const { tree, conflicts, failure } = await mergeTrees(git, folder, ours, theirs);
  if (tree !== null) return { tree, conflicts };
  const { stdout } = await git.try(folder, ['version']);
  const [, major = '2', minor = '38'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  const isOld = Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38);
  const message = isOld
    ? 'To squash or rebase, Callboard needs git 2.38 or newer. Merge with a merge commit, or update git.'
    : `git could not try the merge: ${failure.trim()}`;
  throw new Rejection('merge_refused', message);
}
