import type { CommandReply, LeftProcess, Removal, SavedFile, SavedWork, UnreferencedWork } from '@callboard/contract';
import { count, formatSize } from './format.ts';

export const sizeOf = (files: readonly SavedFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** What will happen to the worktree and the branch, one sentence each. */
export function removalText({ worktree, left, branch, loose, running = [] }: Removal): string[] {
  const runsOn = running.length === 0 ? [] : [`${runningText(running)} End what should not run on first.`];
  if (left !== null) return [left, ...runsOn];
  return [...runsOn, ...treeText(worktree, branch, loose)];
}

const NAMED = 3;

/** Which processes run on: they are on no list afterwards. */
function runningText(running: readonly LeftProcess[]): string {
  const named = running.slice(0, NAMED).map(({ pid, command }) => `${command} (pid ${pid})`);
  const more = running.length > NAMED ? ` and ${running.length - NAMED} more` : '';
  const [verb, whom] = running.length === 1 ? ['runs', 'it'] : ['run', 'them'];
  return `${count(running.length, 'process', 'processes')} that Claude's commands started still ${verb}: ${named.join(', ')}${more}. Deleting the stage does not end ${whom}.`;
}

function treeText(worktree: Removal['worktree'], branch: Removal['branch'], loose: Removal['loose']): string[] {
  const text = worktree === null ? [] : ['Its worktree is removed.'];
  const saved =
    branch === null
      ? []
      : [
          branch.isKept
            ? `The branch ${branch.name} is kept: it has work that is not merged.`
            : `The branch ${branch.name} is removed: everything on it is merged.`,
        ];
  return [...text, ...saved, ...(loose === null ? [] : unreferencedWorkText(loose))];
}

/** What there is beside the branch, and what becomes of it. */
function unreferencedWorkText({ branch, commits, earlier, operation, branches, stashes }: UnreferencedWork): string[] {
  const half = operation === null ? [] : [`A ${operation === 'am' ? 'rebase' : operation} in it is half done.`];
  const where = branch === null ? 'the worktree is on no branch' : `the worktree is on ${branch}`;
  const parts = [
    ...(commits > 0 ? [`${count(commits, 'commit')} that no branch has (${where})`] : []),
    ...(earlier > 0 ? [`${count(earlier, 'earlier commit')} that only the reflog has`] : []),
  ];
  const isOne = commits + earlier === 1;
  return [
    ...half,
    ...(parts.length === 0
      ? []
      : [`${upperFirst(parts.join(' and '))} ${isOne ? 'goes' : 'go'} to the trash for 30 days.`]),
    ...branches.map((one) => `The branch ${one.name} stays, with ${count(one.commits, 'unmerged commit')}.`),
    ...(stashes.length === 0
      ? []
      : [
          `${upperFirst(count(stashes.length, 'stash', 'stashes'))} made in it ${stashes.length === 1 ? 'stays' : 'stay'} in the repository (${stashes.slice(0, 3).join('; ')}).`,
        ]),
  ];
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What the deletion kept and could not remove; null if there is nothing to add. */
export function deletedText({ left, kept, deleted, running = [] }: CommandReply<'remove_stage'>): string | null {
  const text = [
    ...(kept === null || kept.fileCount === 0
      ? []
      : [`${count(kept.fileCount, 'item')} moved to the trash (${formatSize(kept.bytes)}).`]),
    ...(kept?.work == null ? [] : [`${upperFirst(workText(kept.work))} moved to the trash.`]),
    ...(deleted.length === 0
      ? []
      : [`${count(deleted.length, 'build folder')} deleted (${formatSize(sizeOf(deleted))}).`]),
    ...(left === null ? [] : [left]),
    ...(running.length === 0 ? [] : [runningText(running)]),
  ];
  return text.length === 0 ? null : text.join(' ');
}

/** What a worktree has that is neither committed nor merged: "3 uncommitted files and 2 unmerged commits". */
export function workText({
  uncommitted,
  unmerged,
  earlier,
}: Pick<SavedWork, 'uncommitted' | 'unmerged' | 'earlier'>): string {
  const text = [
    ...(uncommitted === 0 ? [] : [count(uncommitted, 'uncommitted file')]),
    ...(unmerged === 0 ? [] : [count(unmerged, 'unmerged commit')]),
    ...(earlier === 0 ? [] : [`${count(earlier, 'commit')} that only its reflog has`]),
  ];
  return text.join(' and ');
}
