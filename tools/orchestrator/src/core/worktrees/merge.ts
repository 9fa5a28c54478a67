import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  type MergeMethod,
  type MergePlan,
  NAMED_UNCOMMITTED,
  type Project,
  type SeenDiff,
  type StageMerge,
  type Worktree,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { changedMeanwhile, OperationalError, Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import { type Git, type GitResult, requireNoOtherGit } from '../../platform/git/git.ts';
import { MERGES_INTO } from '../../platform/git/guard.ts';
import { NO_REPLACEMENTS } from '../../platform/git/run-git.ts';
import {
  committedPlaceholders,
  createCommitMaker,
  draftSquashMessage,
  requireAgreedSigning,
  requireCommittable,
  requireNoPlaceholders,
} from './commit-worktree.ts';
import {
  conflict,
  countMissing,
  identityOptions,
  isIn,
  type MergeOutcome,
  type MergeTarget,
  newestMerge,
  readContents,
  requireClean,
  requireSeen,
  targetOf,
  trialCommit,
  tryMerge,
  uncommitted,
  uncommittedFiles,
  type WorktreeContents,
} from './merge-plan.ts';
import { elsewhereOf, elsewhereText, isAway } from './off-branch.ts';
import { clearUnfinishedMerge, requireNothingInTheWay, settleCheckout, undoProblem } from './update-checkout.ts';

/** What was merged; `at` is the store's to say. */
export type Merged = Omit<StageMerge, 'at'>;

/** With `head` and `tree`, nothing is merged but what the person was shown. */
export interface MergeOrder extends SeenDiff {
  /** By default `merge`. */
  method?: MergeMethod;
  /** The message of a squash; without one, `title` and the commits make it. */
  message?: string;
  title?: string;
  /** Called with what will be merged, right before it is. Resolves with variables for the git that merges, by which it can be found. */
  mayBegin?: (planned: Merged) => Promise<Readonly<Record<string, string>>>;
}

/** A merge that is possible. */
interface Mergeable extends MergeTarget {
  /** The newest commit of the stage's branch. Exactly this one is merged, even if the branch moves meanwhile. */
  head: string;
  outcome: MergeOutcome;
}

/**
 * Checks everything that could make a merge fail; changes nothing.
 * @param order with `takesUncommitted`, uncommitted work is committed before the merge
 * @throws Rejection `head_moved`, `uncommitted_work`, `merge_refused`, `merge_conflict`
 */
export async function requireMergeable(
  git: Git,
  project: Project,
  worktree: Worktree,
  { takesUncommitted = false, method = 'merge', ...seen }: MergeOrder & { takesUncommitted?: boolean },
): Promise<Mergeable> {
  const contents = await readContents(git, project, worktree);
  requireSeen(worktree, contents, seen);
  await requireNoPlaceholders(git, worktree, takesUncommitted ? contents.tree : contents.head);
  const files = await uncommittedFiles(git, worktree, contents);
  if (files.length > 0 && !takesUncommitted) throw uncommitted(worktree, files);
  const target = await targetOf(git, project);
  await requireClean(git, project);
  await requireAgreedSigning(git, project.path, 'merge_refused');
  const commit = await trialCommit(git, worktree, contents);
  const outcome = await tryMerge(git, project.path, worktree, { method, previous: target.previous, commit });
  if (outcome.conflicts.length > 0) throw conflict(worktree, target.into, outcome);
  await requireNothingInTheWay(git, project.path, { previous: target.previous, commit, outcome });
  return { ...target, head: contents.head, outcome };
}

/**
 * Brings a stage's newest commit into the branch that the repository's main checkout is on. Checks first for everything that
 * could fail. The commits are made without touching the checkout; then a single fast-forward moves branch and checkout. If git
 * fails in it, the checkout is restored.
 * @returns what was merged; null if there was nothing to merge
 * @throws Rejection `head_moved`, `uncommitted_work`, `merge_refused`, `merge_conflict`; whatever `mayBegin` throws;
 *   OperationalError `worktree_failed` if the checkout could not be restored: `settleMerge` does it later
 */
export async function mergeInto(
  git: Git,
  project: Project,
  worktree: Worktree,
  order: MergeOrder,
): Promise<Merged | null> {
  const { path } = project;
  const { branch } = worktree;
  const { method = 'merge', mayBegin } = order;
  await requireNoOtherGit(git, path); // before anything is read: it may be a commit
  const mergeable = await requireMergeable(git, project, worktree, order);
  const { into, previous, head, outcome } = mergeable;
  const { commits, files } = outcome;
  if (commits === 0) return mergedBefore(git, project, worktree, { ...mergeable, method });
  const made = await makeCommit(git, path, mergeable, { ...order, method, branch });
  const options = [...(await identityOptions(git, path)), ...(await mergeOptionOverrides(git, path, into))];
  const planned: Merged = {
    method,
    commit: made ?? head,
    into,
    branch,
    head,
    previous,
    commits,
    files,
    pullRequest: null,
  };
  const undo = made === null ? await createRestorePoint(git, path, head) : null;
  await requireNoOtherGit(git, path);
  const marker = await mayBegin?.(planned);
  const since = Date.now();
  // Git before 2.38 can make a merge commit in the checkout only.
  const how =
    made === null
      ? ['--no-ff', '-m', mergeMessage(branch, into), head]
      : ['--ff-only', '--no-overwrite-ignore', '--quiet', made];
  const env = {
    ...NO_REPLACEMENTS,
    GIT_REFLOG_ACTION: `${method} ${branch}`,
    ...(method === 'merge' && made !== null ? { [MERGES_INTO]: `refs/heads/${into}` } : {}),
    ...marker,
  };
  const merged = await git.try(path, [...options, 'merge', '--no-autostash', ...how], env);
  if (undo === null) return settleFastForward(git, project, planned, { merged, since });
  const commit = await findMerge(git, project, planned); // git may have been killed after it had finished
  if (commit !== null) return { ...planned, commit };
  throw await failedMerge(git, project, planned, { merged, undo });
}

/** @throws Rejection `merge_refused`; OperationalError `worktree_failed` if the checkout could not be restored */
async function settleFastForward(
  git: Git,
  { path }: Project,
  planned: Merged,
  { merged, since }: { merged: GitResult; since: number },
): Promise<Merged> {
  const { commit, into, branch, previous } = planned;
  const isMerged = await isIn(git, path, commit, `refs/heads/${into}`);
  if (!merged.failed && isMerged) return planned;
  const { hasMoved, foreign } = await settleCheckout(git, path, { into, from: previous ?? commit, to: commit, since });
  if (hasMoved === true || isMerged) return planned;
  const left = foreign.length === 0 ? '' : ` ${changedMeanwhile(foreign)}`;
  if (hasMoved === null) throw refused(`${into} changed at the same moment. Nothing was merged. Try again.${left}`);
  if (merged.wasKilled)
    throw refused(
      `Git was killed while merging ${branch}. Nothing was merged, and the main checkout is unchanged.${left} Try again.`,
    );
  throw refused(`Git refused to merge ${branch}, so nothing was merged.${left}\n${merged.stderr || merged.stdout}`);
}

const refused = (message: string) => new Rejection('merge_refused', message.trim());

/** Restores the main checkout after a merge in it that failed, and returns what to tell the person. For git before 2.38. */
async function failedMerge(
  git: Git,
  project: Project,
  { branch, into }: Merged,
  { merged, undo }: { merged: GitResult; undo: (wasKilled: boolean) => Promise<string | null> },
): Promise<Rejection> {
  const conflicts = await git.try(project.path, ['diff', '--name-only', '--diff-filter=U']);
  const left = await undo(merged.wasKilled);
  if (left !== null)
    return refused(
      `Git failed while merging ${branch}, and the main checkout at ${project.path} could not be restored (${left}). Check it with "git status" before you try again.\n${merged.stderr}`,
    );
  if (merged.wasKilled)
    return refused(
      `Git was killed while merging ${branch}. Nothing was merged, and the main checkout is unchanged. Try again.`,
    );
  const files = conflicts.stdout.split('\n').filter((file) => file !== '');
  if (files.length === 0)
    return refused(`Git refused to merge ${branch}, so nothing was merged.\n${merged.stderr || merged.stdout}`);
  return conflict({ branch }, into, { conflicts: files, stoppedAt: null });
}

/** Makes the commit that the target is moved to. Nothing points at it yet. Null if git (before 2.38) cannot make a merge so. */
async function makeCommit(
  git: Git,
  path: string,
  { previous, head, outcome, into }: Mergeable,
  { method, message, title = '', branch }: MergeOrder & { branch: string },
): Promise<string | null> {
  const maker = createCommitMaker(git, path);
  const { tree, replayed, since } = outcome;
  if (method === 'rebase') return maker.rebase(replayed, previous);
  if (tree === null) return null;
  if (method === 'merge') return maker.merge({ tree, parents: [previous, head], message: mergeMessage(branch, into) });
  const drafted = () => draftSquashMessage(git, path, { title, previous, head, since, hasMore: false });
  return maker.squash({ tree, parents: [previous], message: message ?? (await drafted()) ?? title });
}

const mergeMessage = (branch: string, into: string): string => `Merge branch '${branch}' into ${into}`;

/**
 * Returns the commit by which a branch took in what was planned, whatever was added to it since; null if it did not.
 * @throws OperationalError `worktree_failed`
 */
async function findMerge(git: Git, project: Project, planned: Merged): Promise<string | null> {
  const { into, head, previous, commit } = planned;
  if (previous === null) return commit;
  // The commit was made before it was merged, so its id tells.
  if (!isMadeInCheckout(planned)) return (await isIn(git, project.path, commit, `refs/heads/${into}`)) ? commit : null;
  const range = `${previous}..refs/heads/${into}`;
  const listed = await git.try(
    project.path,
    ['rev-list', '--first-parent', '--parents', '--reverse', range],
    NO_REPLACEMENTS,
  );
  if (listed.failed) return null; // the branch is gone
  const lines = listed.stdout.split('\n').map((line) => line.trim().split(' '));
  return lines.find(([, , second]) => second === head)?.[0] ?? null;
}

/**
 * Ends a planned merge whose git no longer runs: its commit, if the branch has it, with the main checkout at it; otherwise
 * null, with the main checkout as it was before.
 * @throws OperationalError `worktree_failed` if the main checkout could not be finished or restored: try again later
 */
export async function settleMerge(
  git: Git,
  project: Project,
  planned: Merged,
  since: number,
): Promise<{ commit: string | null; foreign: string[] }> {
  const { into, previous } = planned;
  const commit = await findMerge(git, project, planned);
  if (isMadeInCheckout(planned) || previous === null) {
    await clearUnfinishedMerge(git, project, planned, commit !== null);
    return { commit, foreign: [] };
  }
  const { foreign } = await settleCheckout(git, project.path, { into, from: previous, to: planned.commit, since });
  return { commit, foreign };
}

/** Whether the merge commit was to be made in the main checkout: by git before 2.38, or by an older release of Callboard. */
const isMadeInCheckout = ({ method, commit, head }: Merged): boolean => method === 'merge' && commit === head;

/** What to tell if the target already has everything; null if the stage has no commit. */
async function mergedBefore(
  git: Git,
  project: Project,
  worktree: Worktree,
  { into, previous, head, method }: Mergeable & { method: MergeMethod },
): Promise<Merged | null> {
  const { path } = project;
  const { branch, base } = worktree;
  const counts = await countMissing(git, path, { previous: base, commit: head });
  if (counts.commits === 0) return null;
  const known = { into, branch, head, previous: null, pullRequest: null, ...counts };
  if (await isIn(git, path, head, previous)) return { ...known, method: 'merge', commit: head };
  const earlier = await newestMerge(git, path, worktree, { into: previous, head });
  if (earlier !== null) return { ...known, method: earlier.method, commit: earlier.commit };
  return { ...known, method, commit: previous }; // somebody else has brought in the same changes
}

/**
 * Returns options that switch off the merge options of the target branch: `-s ours` or `-X theirs`, set by a script, would
 * merge something other than what was shown.
 * @throws Rejection `merge_refused` if they cannot be switched off
 */
async function mergeOptionOverrides(git: Git, path: string, into: string): Promise<string[]> {
  const key = `branch.${into}.mergeOptions`;
  if ((await git.try(path, ['config', '--get-all', key])).failed) return [];
  if (!into.includes('=')) return ['-c', `${key}=`];
  const message = `The repository's configuration sets ${key}, which can change what a merge does. Remove it with "git config --unset-all", then merge.`;
  throw new Rejection('merge_refused', message);
}

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/**
 * Records the state of a checkout without changed tracked files, and returns a function that restores it after a failed merge of
 * `commit`. That function resolves with what could not be restored; null if everything was.
 * @throws Rejection `merge_refused` if another git has locked it
 */
async function createRestorePoint(
  git: Git,
  checkout: string,
  commit: string,
): Promise<(wasKilled: boolean) => Promise<string | null>> {
  const head = await git.must(checkout, ['rev-parse', 'HEAD']);
  const lock = resolve(checkout, await git.must(checkout, ['rev-parse', '--git-path', 'index.lock']));
  await requireNoOtherGit(git, checkout);
  const touched = parsePaths(
    await git.must(checkout, ['diff', '--name-only', '-z', '--no-renames', `${head}...${commit}`]),
  );
  const tracked = new Set(parsePaths(await git.must(checkout, ['ls-files', '-z'])));
  const missing: string[] = [];
  for (const path of touched) if (!tracked.has(path) && !(await pathExists(join(checkout, path)))) missing.push(path);

  /** Removes what a killed git left: its lock, and files that it had written but not added to the index. */
  async function cleanUpAfterKill(): Promise<void> {
    await rm(lock, { force: true });
    await git.try(checkout, ['merge', '--abort']);
    for (const path of missing) await rm(join(checkout, path), { force: true });
    const known = touched.filter((path) => tracked.has(path));
    for (let at = 0; at < known.length; at += PATHS_PER_CALL) {
      const paths = known.slice(at, at + PATHS_PER_CALL);
      // A name may begin with ":" or contain "*", which git would take for a pattern.
      await git.try(checkout, ['--literal-pathspecs', 'checkout', '--quiet', head, '--', ...paths]);
    }
  }

  return async (wasKilled) => {
    await git.try(checkout, ['merge', '--abort']);
    if (wasKilled && (await whatDiffers()) !== null) await cleanUpAfterKill();
    return whatDiffers();
  };

  async function whatDiffers(): Promise<string | null> {
    const now = await git.try(checkout, ['rev-parse', 'HEAD']);
    if (now.stdout.trim() !== head) return `it is at ${now.stdout.trim()}`;
    const changed = await git.try(checkout, ['status', '--porcelain', '--untracked-files=no']);
    if (changed.failed) return changed.stderr;
    if (changed.stdout.trim() !== '') return changed.stdout.trim().split('\n').slice(0, 5).join(', ');
    for (const path of missing) if (await pathExists(join(checkout, path))) return path;
    return (await pathExists(lock)) ? lock : null;
  }
}

const parsePaths = (output: string): string[] => output.split('\0').filter((path) => path !== '');

/** The merge that somebody thinks of, of a stage with this title. */
export interface MergeIdea {
  method: MergeMethod;
  title: string;
}

const NOTHING = { commits: 0, conflicts: [], stoppedAt: null, message: null };

/** As `planMerge`, also for a worktree that is not on the stage's branch. @throws as `planMerge` */
export async function planFinish(git: Git, project: Project, worktree: Worktree, idea: MergeIdea): Promise<MergePlan> {
  const elsewhere = await elsewhereOf(git, project, worktree);
  const plan = await planMerge(git, project, worktree, idea);
  if (elsewhere === null) return plan;
  if (!isAway(elsewhere)) return { ...plan, elsewhere };
  // Compared with the stage's branch, what was committed elsewhere would count as uncommitted.
  const refusal = elsewhereText(elsewhere);
  return { ...plan, elsewhere, refusal, conflicts: [], uncommitted: [], uncommittedCount: elsewhere.uncommitted };
}

/**
 * Returns what a merge of the worktree would do now, uncommitted work included, and whether it is possible. Changes nothing.
 * @throws OperationalError `worktree_failed`; Rejection `merge_refused` if the worktree and its branch are gone
 */
async function planMerge(
  git: Git,
  project: Project,
  worktree: Worktree,
  { method, title }: MergeIdea,
): Promise<MergePlan> {
  const contents = await readContents(git, project, worktree);
  const { head, tree } = contents;
  const open = await uncommittedFiles(git, worktree, contents);
  const uncommitted = { uncommitted: open.slice(0, NAMED_UNCOMMITTED), uncommittedCount: open.length };
  const placeholders = contents.index === null ? [] : await committedPlaceholders(git, worktree, head);
  const seen = { method, branch: worktree.branch, head, tree, elsewhere: null, placeholders, ...uncommitted };
  const target = await orRefusal(targetOf(git, project));
  if ('refusal' in target) return { ...seen, ...NOTHING, into: null, files: open.length, refusal: target.refusal };
  const { into, previous } = target;
  const outcome = await orRefusal(outcomeOf(git, project, worktree, { method, previous, contents }));
  if ('refusal' in outcome) return { ...seen, ...NOTHING, into, files: open.length, refusal: outcome.refusal };
  const { commits, files, conflicts, stoppedAt, since } = outcome;
  const hasMore = open.length > 0;
  const checked = await refusalOf(requirePossible(git, project, worktree, { previous, contents, hasMore, outcome }));
  const squashed = { title, previous, head, since, hasMore };
  return {
    ...seen,
    into,
    files,
    conflicts,
    stoppedAt,
    commits: Math.max(0, commits - (hasMore ? 1 : 0)), // the trial commit is none
    message: method === 'squash' ? await draftSquashMessage(git, project.path, squashed) : null,
    refusal: checked,
  };
}

/** @throws Rejection `merge_refused`, `commit_refused` */
async function requirePossible(
  git: Git,
  project: Project,
  worktree: Worktree,
  plan: { previous: string; contents: WorktreeContents; hasMore: boolean; outcome: MergeOutcome },
): Promise<unknown> {
  const { previous, contents, hasMore, outcome } = plan;
  await requireNoPlaceholders(git, worktree, contents.tree);
  await requireClean(git, project);
  if (outcome.commits > 0) await requireAgreedSigning(git, project.path, 'merge_refused');
  const commit = await trialCommit(git, worktree, contents);
  await requireNothingInTheWay(git, project.path, { previous, commit, outcome });
  return hasMore ? requireCommittable(git, project, worktree, {}) : null;
}

async function outcomeOf(
  git: Git,
  project: Project,
  worktree: Worktree,
  { method, previous, contents }: { method: MergeMethod; previous: string; contents: WorktreeContents },
): Promise<MergeOutcome> {
  const commit = await trialCommit(git, worktree, contents);
  return tryMerge(git, project.path, worktree, { method, previous, commit });
}

/** Returns why a merge cannot be taken back, also if git fails; null if it can. */
export async function undoRefusal(git: Git, project: Project, merge: StageMerge): Promise<string | null> {
  try {
    return await undoProblem(git, project, merge);
  } catch (error) {
    if (error instanceof OperationalError) return messageOf(error);
    throw error;
  }
}

/** Returns why a check refuses; null if it does not. */
async function refusalOf(check: Promise<unknown>): Promise<string | null> {
  const result = await orRefusal(check.then(() => ({})));
  return 'refusal' in result ? result.refusal : null;
}

async function orRefusal<T>(check: Promise<T>): Promise<T | { refusal: string }> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof Rejection) return { refusal: error.message };
    throw error;
  }
}
