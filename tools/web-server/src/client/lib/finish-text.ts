import type { Elsewhere, MergeMethod, MergePlan, Stage, StageView } from '@callboard/contract';
import { count } from './format.ts';

/** What there is to do with the work of a stage. */
export type Finish =
  /** It never ran, or nothing of its work is left. */
  | 'nothing-ran'
  /** It changed nothing that its target lacks. */
  | 'nothing-to-merge'
  | 'commit-and-merge'
  | 'merge'
  | 'conflict'
  /** Git would refuse, for another reason. */
  | 'refused';

/** @param plan null for a stage without a worktree or branch */
export function finishOf(plan: MergePlan | null): Finish {
  if (plan === null) return 'nothing-ran';
  // What the stage's branch has says nothing about work that is elsewhere.
  if (plan.elsewhere !== null && plan.refusal !== null) return 'refused';
  if (plan.commits === 0 && plan.uncommittedCount === 0) return 'nothing-to-merge';
  if (plan.into === null || plan.refusal !== null) return 'refused';
  if (plan.conflicts.length > 0) return 'conflict';
  return plan.uncommittedCount > 0 ? 'commit-and-merge' : 'merge';
}

/** What the ways of merging are called where one is chosen. */
export const METHOD_NAMES: Readonly<Record<MergeMethod, string>> = {
  merge: 'Merge commit',
  squash: 'Squash',
  rebase: 'Rebase',
};

/** The button that does it: it names what happens, and the branch. */
export function actionText({ method, into, uncommittedCount }: MergePlan): string {
  const [verb, where] = method === 'rebase' ? ['rebase', 'onto'] : [method, 'into'];
  const does = uncommittedCount > 0 ? `commit and ${verb}` : verb;
  return `${upperFirst(does)} ${where} ${into ?? ''}`;
}

/** "1 commit, 3 files" */
const amount = (commits: number, files: number): string => `${count(commits, 'commit')}, ${count(files, 'file')}`;

/** "a.ts, b.ts and 3 more" */
function named(files: readonly string[], total: number, shown = 3): string {
  const list = files.slice(0, shown);
  const more = total - list.length;
  return more > 0 ? `${list.join(', ')} and ${more} more` : list.join(', ');
}

/** What the action would do, or why it cannot: one line. */
export function planText(plan: MergePlan | null, { title, session }: Pick<StageView, 'title' | 'session'>): string {
  if (plan === null)
    return session === null ? `${title} was never started.` : 'Its worktree and its branch no longer exist.';
  const { branch, commits, uncommittedCount, refusal } = plan;
  const into = plan.into ?? '';
  switch (finishOf(plan)) {
    case 'nothing-ran':
    case 'nothing-to-merge':
      return plan.into === null ? `${branch} has nothing to merge.` : `${branch} has nothing that ${into} lacks.`;
    case 'refused':
      return refusal ?? '';
    case 'conflict':
      return conflictText(plan);
    case 'commit-and-merge':
      return `Commit ${count(uncommittedCount, 'file')} on ${branch}, then ${mergeText(plan, 'it', commits + 1)} No conflicts.`;
    default:
      return `${upperFirst(mergeText(plan, branch, commits))} No conflicts.`;
  }
}

/** "squash main (2 commits, 3 files) into one commit on main." */
function mergeText({ method, files, into }: MergePlan, what: string, commits: number): string {
  const target = into ?? '';
  if (method === 'rebase') return `rebase ${what} (${amount(commits, files)}) onto ${target}.`;
  if (method === 'squash') return `squash ${what} (${amount(commits, files)}) into one commit on ${target}.`;
  return `merge ${what} (${amount(commits, files)}) into ${target}.`;
}

function conflictText({ branch, into, conflicts, stoppedAt }: MergePlan): string {
  const what = stoppedAt === null ? branch : `${stoppedAt.commit.slice(0, 7)} "${stoppedAt.subject}" on ${branch}`;
  const where = conflicts.length === 1 ? 'a file' : count(conflicts.length, 'file');
  return `${what} and ${into ?? ''} change the same lines in ${where}:`;
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What completing without a merge would leave behind; null if nothing. */
export function leftText(plan: MergePlan | null): string | null {
  if (plan === null) return null;
  const { branch, commits, uncommitted, uncommittedCount: open, into, elsewhere } = plan;
  const other = elsewhere === null ? 0 : elsewhere.commits;
  if (elsewhere !== null && (other > 0 || open > 0)) {
    const there = elsewhere.branch === null ? 'in the worktree, on no branch' : `on ${elsewhere.branch}`;
    const parts = [
      ...(open > 0 ? [count(open, 'uncommitted file')] : []),
      ...(other > 0 ? [count(other, 'commit')] : []),
    ];
    return `${parts.join(' and ')} that ${branch} lacks would stay ${there}. You can merge later.`;
  }
  const parts = [
    ...(open > 0 ? [`${count(open, 'file')} with uncommitted changes (${named(uncommitted, open)})`] : []),
    ...(commits > 0 ? [`${count(commits, 'commit')} that ${into ?? 'no other branch'} lacks`] : []),
  ];
  if (parts.length === 0) return null;
  return `${parts.join(' and ')} would stay on ${branch}. You can merge later.`;
}

/** What Claude is asked, where its work cannot be merged as it is. */
export const askToCommit = 'Commit your work on the current branch, with a message that says what it does and why.';

/** What Claude is asked, where it left a rebase half done. */
export const askToFinishRebase =
  'A rebase is half done in your worktree. Finish it: resolve what conflicts so that both sides keep their meaning, continue until it is done, and check that everything still works. Change no other branch.';

/** The buttons for a worktree that is not on the stage's branch; null: not possible. */
export function elsewhereButtons({ branch, own, tip, operation }: Elsewhere): {
  take: string | null;
  rewind: string | null;
} {
  return {
    take: operation !== null ? null : branch === null ? `Take the commits onto ${own}` : `Take ${branch} as its branch`,
    rewind: tip === null ? null : `Go back to ${own}`,
  };
}

/** How many conflicting files a message names. */
const NAMED_CONFLICTS = 50;

/**
 * What Claude is asked, where its work conflicts with the branch that it is to go into. Everything happens in the worktree, which
 * shares its branches with the main checkout.
 */
export function askToResolve({ into, method, conflicts, uncommittedCount, stoppedAt }: MergePlan): string {
  const target = into ?? '';
  const first = uncommittedCount > 0 ? 'Commit your work. Then ' : '';
  const does =
    method === 'rebase' ? `rebase the current branch onto ${target}` : `merge ${target} into the current branch`;
  const where = stoppedAt === null ? '' : ` of ${stoppedAt.commit.slice(0, 7)} "${stoppedAt.subject}"`;
  const more = conflicts.length - NAMED_CONFLICTS;
  return [
    `Your work conflicts with ${target}. ${first === '' ? upperFirst(does) : `${first}${does}`}, here in your worktree, and resolve the conflicts so that both sides keep their meaning. Check that everything still works${method === 'rebase' ? '' : ', and commit the merge'}. Change no other branch.`,
    '',
    `Conflicting files${where}:`,
    ...conflicts.slice(0, NAMED_CONFLICTS).map((file) => `- ${file}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join('\n');
}

/** The beginning of a commit's id, as git prints it. */
const shortCommit = (commit: string): string => commit.slice(0, 7);

/** What became of the work of a done stage. Only `merged` may be green. */
export function mergedText({ merged }: Pick<Stage, 'merged'>): { text: string; tone: 'merged' | 'plain' } {
  if (merged === null) return { text: 'not merged', tone: 'plain' };
  return { text: `merged ${shortCommit(merged.commit)} into ${merged.into}`, tone: 'merged' };
}
