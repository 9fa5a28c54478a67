import type { MergeMethod, MergePlan, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { embeddedRepositories, embeddedRepositoriesText } from './embedded-repositories.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { newestMerge } from './recorded-merges.ts';
import { type ReplayedCommit, replay } from './replay.ts';
import { mergeOnto, mergeTrees, requireMergedTree } from './three-way-merge.ts';

/** What bringing a commit into the target in one way would do. */
export interface MergeOutcome extends Pick<MergePlan, 'commits' | 'files' | 'conflicts' | 'stoppedAt'> {
  /** The tree of the target afterwards; null if git (before 2.38) cannot tell without merging. */
  tree: string | null;
  /** For a rebase: what it would make. */
  replayed: ReplayedCommit[];
  /** The commit up to which the target has the work although the history does not tell; null if there is none. */
  since: string | null;
}

export interface MergeAttempt {
  method: MergeMethod;
  /** The commit that the target is at. */
  previous: string;
  commit: string;
}

/**
 * Tries a merge without touching a file: it only adds objects.
 * @throws Rejection `merge_refused` if git cannot tell; OperationalError `worktree_failed`
 */
export async function tryMerge(
  git: Git,
  folder: string,
  worktree: Worktree,
  attempt: MergeAttempt,
): Promise<MergeOutcome> {
  const { method, previous, commit } = attempt;
  const since = (await newestMerge(git, folder, worktree, { into: previous, head: commit }))?.head ?? null;
  await requireNoEmbedded(git, folder, { from: since, previous, commit });
  const counts = await countMissing(git, folder, { previous, commit, since });
  const outcome = { ...counts, conflicts: [], stoppedAt: null, tree: null, replayed: [], since };
  if (counts.commits === 0) return outcome;
  const common = await git.try(folder, ['merge-base', previous, commit], NO_REPLACEMENTS);
  const from = since ?? (common.failed ? previous : common.stdout.trim());
  const embedded = await embeddedRepositories(git, folder, from, commit);
  if (embedded.length > 0)
    throw new Rejection('merge_refused', `Nothing was merged: ${embeddedRepositoriesText(embedded)}`);
  if (method === 'merge') {
    const { tree, conflicts } = await mergeTrees(git, folder, previous, commit);
    return { ...outcome, tree, conflicts };
  }
  if (method === 'rebase') {
    const { commits, ...made } = await replay(git, folder, { onto: previous, head: commit, since });
    const files = made.stoppedAt === null ? await countFiles(git, folder, previous, made.tree) : counts.files;
    return { ...outcome, ...made, replayed: commits, commits: commits.length, files };
  }
  const { tree, conflicts } = await squash(git, folder, attempt, since);
  if (conflicts.length > 0) return { ...outcome, conflicts };
  const files = await countFiles(git, folder, previous, tree);
  return { ...outcome, tree, files, commits: files === 0 ? 0 : counts.commits };
}

/** @throws Rejection `merge_refused` if the merge would bring in a repository as a bare pointer */
async function requireNoEmbedded(
  git: Git,
  folder: string,
  { from, previous, commit }: { from: string | null; previous: string; commit: string },
): Promise<void> {
  const common = await git.try(folder, ['merge-base', previous, commit], NO_REPLACEMENTS);
  const since = from ?? (common.failed ? previous : common.stdout.trim());
  const embedded = await embeddedRepositories(git, folder, since, commit);
  if (embedded.length > 0)
    throw new Rejection('merge_refused', `Nothing was merged: ${embeddedRepositoriesText(embedded)}`);
}

async function squash(
  git: Git,
  folder: string,
  { previous, commit }: MergeAttempt,
  since: string | null,
): Promise<{ tree: string; conflicts: string[] }> {
  if (since === null) return requireMergedTree(git, folder, previous, commit);
  const tree = await git.must(folder, ['rev-parse', '--verify', `${previous}^{tree}`], NO_REPLACEMENTS);
  return mergeOnto(git, folder, { base: since, tree, theirs: commit });
}

/** Counts the commits and files of `commit` that neither `previous` nor `since` has. */
export async function countMissing(
  git: Git,
  folder: string,
  { previous, commit, since = null }: { previous: string; commit: string; since?: string | null },
): Promise<Pick<MergeOutcome, 'commits' | 'files'>> {
  const not = since === null ? [] : [`^${since}`];
  const commits = await git.must(folder, ['rev-list', '--count', `${previous}..${commit}`, ...not], NO_REPLACEMENTS);
  const common = await git.try(folder, ['merge-base', previous, commit], NO_REPLACEMENTS);
  const base = since ?? (common.failed ? null : common.stdout.trim());
  return { commits: Number(commits), files: base === null ? 0 : await countFiles(git, folder, base, commit) };
}

async function countFiles(git: Git, folder: string, from: string, to: string): Promise<number> {
  const args = ['diff-tree', '-r', '--find-renames', '--name-only', '-z', from, to];
  return (await git.must(folder, args, NO_REPLACEMENTS)).split('\0').filter((name) => name !== '').length;
}

export function conflict(
  { branch }: Pick<Worktree, 'branch'>,
  into: string,
  { conflicts, stoppedAt }: Pick<MergeOutcome, 'conflicts' | 'stoppedAt'>,
): Rejection {
  const where =
    stoppedAt === null
      ? `${branch} conflicts with ${into} in`
      : `${stoppedAt.commit.slice(0, 7)} (${stoppedAt.subject}) on ${branch} conflicts with ${into} in`;
  const next = stoppedAt === null ? `merge ${into} into its branch` : `rebase its branch onto ${into}`;
  const message = `${where} ${conflicts.join(', ')}. Nothing was merged. Have Claude ${next} first.`;
  return new Rejection('merge_conflict', message);
}
