import type { Project, StageMerge } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { requireNoOtherGit } from './git/other-git.ts';
import { moveProblem } from './in-the-way.ts';
import { changedFiles, namedFiles } from './merge-plan.ts';
import { isIn } from './recorded-merges.ts';
import { settleCheckout } from './settle-checkout.ts';

/**
 * Returns why a merge cannot be taken back, for people; null if it can: while the branch still stands at it, it was not pushed,
 * and the main checkout has no changes that could be lost.
 * @throws OperationalError `worktree_failed`
 */
export async function undoProblem(git: Git, project: Project, merge: StageMerge): Promise<string | null> {
  const { into, commit, previous } = merge;
  if (previous === null) return null; // Callboard moved nothing
  const { path } = project;
  const on = await git.try(path, ['symbolic-ref', '--quiet', 'HEAD']);
  if (on.stdout.trim() !== `refs/heads/${into}`) return `The main checkout at ${path} is not on ${into}.`;
  if ((await git.must(path, ['rev-parse', 'HEAD'])) !== commit)
    return `${into} has moved on since ${commit.slice(0, 7)}.`;
  const pushed = await git.must(path, [
    'for-each-ref',
    '--format=%(refname:short)',
    `--contains=${commit}`,
    'refs/remotes',
  ]);
  if (pushed !== '') return `${commit.slice(0, 7)} was pushed (${pushed.split('\n')[0]}).`;
  const changed = await changedFiles(git, path);
  if (changed.length > 0) return `The main checkout at ${path} has uncommitted changes (${namedFiles(changed)}).`;
  return moveProblem(git, path, commit, previous);
}

/**
 * Moves the branch and the main checkout back to where they were before the merge. The stage's branch stays as it is.
 * @param marker variables for the git that does it, by which it can be found
 * @throws Rejection `undo_refused`, and nothing has changed
 */
export async function undoMerge(
  git: Git,
  project: Project,
  merge: StageMerge,
  marker: Readonly<Record<string, string>>,
): Promise<void> {
  const reason = await undoProblem(git, project, merge);
  if (reason !== null) throw new Rejection('undo_refused', `${reason} The merge was not undone.`);
  const { commit, previous, into } = merge;
  if (previous === null) return;
  const { path } = project;
  await requireNoOtherGit(git, path, 'undo_refused');
  const since = Date.now();
  // Refuses to overwrite changes, unlike --hard.
  const reset = await git.try(path, ['reset', '--quiet', '--keep', previous], { ...NO_REPLACEMENTS, ...marker });
  if (reset.failed) await settleCheckout(git, path, { into, from: commit, to: previous, since });
  const now = await git.must(path, ['rev-parse', 'HEAD']);
  if (now !== previous) {
    const message = `Git did not take the merge back. Nothing was changed.\n${reset.stderr || reset.stdout}`.trim();
    throw new Rejection('undo_refused', message);
  }
  const from = await git.try(path, ['rev-parse', '--verify', '--quiet', 'ORIG_HEAD']);
  if (from.failed || from.stdout.trim() === commit) return;
  // Somebody committed between the check and the reset.
  await git.must(path, ['reset', '--quiet', '--keep', from.stdout.trim()]);
  throw new Rejection(
    'undo_refused',
    `${merge.into} has moved on since ${commit.slice(0, 7)}. The merge was not undone.`,
  );
}

/**
 * Takes back what a killed git left of a merge that it made in the main checkout: an unfinished merge of this commit, or exactly
 * its files staged. Anything else stays.
 */
export async function clearUnfinishedMerge(
  git: Git,
  { path }: Project,
  { head, previous }: Omit<StageMerge, 'at'>,
  isMerged: boolean,
): Promise<void> {
  const merging = await git.try(path, ['rev-parse', '--verify', '--quiet', 'MERGE_HEAD']);
  if (!merging.failed) {
    // Killed once the branch had moved: the person's next commit would be a second merge.
    if (merging.stdout.trim() === head) await git.try(path, ['merge', isMerged ? '--quit' : '--abort']);
    return;
  }
  const now = await git.try(path, ['rev-parse', 'HEAD']);
  if (isMerged || previous === null || now.stdout.trim() !== previous) return;
  const staged = await git.try(path, ['write-tree']);
  const merged = await git.try(path, ['merge-tree', '--write-tree', previous, head], NO_REPLACEMENTS);
  const isOurs = !staged.failed && !merged.failed && staged.stdout.trim() === merged.stdout.trim();
  if (isOurs) await git.try(path, ['reset', '--quiet', '--merge', previous]);
}

/**
 * Ends the undoing of a merge whose git no longer runs.
 * @returns whether the branch no longer has the merge
 * @throws OperationalError `worktree_failed` if the main checkout could not be finished or restored: try again later
 */
export async function settleUndo(
  git: Git,
  project: Project,
  merge: StageMerge,
  since: number,
): Promise<{ isUndone: boolean; foreign: string[] }> {
  const { into, commit, previous } = merge;
  const isUndone = !(await isIn(git, project.path, commit, `refs/heads/${into}`));
  if (previous === null) return { isUndone, foreign: [] };
  const { foreign } = await settleCheckout(git, project.path, { into, from: commit, to: previous, since });
  return { isUndone, foreign };
}
