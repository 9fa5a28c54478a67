import type { CommandReply, KeptFile, KeptWork, LeftProcess, LooseWork, Removal } from '@callboard/contract';
import { count, sizeWords } from './format.ts';

export const sizeOf = (files: readonly KeptFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** What will happen to the worktree and the branch, one sentence each. */
export function removalWords({ worktree, left, branch, loose, running = [] }: Removal): string[] {
  const runsOn = running.length === 0 ? [] : [`${runningWords(running)} End what should not run on first.`];
  if (left !== null) return [left, ...runsOn];
  return [...runsOn, ...treeWords(worktree, branch, loose)];
}

const NAMED = 3;

/** Which processes run on: they are on no list afterwards. */
function runningWords(running: readonly LeftProcess[]): string {
  const named = running.slice(0, NAMED).map(({ pid, command }) => `${command} (pid ${pid})`);
  const more = running.length > NAMED ? ` and ${running.length - NAMED} more` : '';
  const [verb, whom] = running.length === 1 ? ['runs', 'it'] : ['run', 'them'];
  return `${count(running.length, 'process', 'processes')} that Claude's commands started still ${verb}: ${named.join(', ')}${more}. Deleting the stage does not end ${whom}.`;
}

function treeWords(worktree: Removal['worktree'], branch: Removal['branch'], loose: Removal['loose']): string[] {
  const words = worktree === null ? [] : ['Its worktree is removed.'];
  const kept =
    branch === null
      ? []
      : [
          branch.isKept
            ? `The branch ${branch.name} is kept: it has work that is not merged.`
            : `The branch ${branch.name} is removed: it has nothing that is not merged.`,
        ];
  return [...words, ...kept, ...(loose === null ? [] : looseWords(loose))];
}

/** What there is beside the branch, and what becomes of it. */
function looseWords({ branch, commits, earlier, operation, branches, stashes }: LooseWork): string[] {
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

const upperFirst = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** What the deletion kept and could not remove; null if there is nothing to add. */
export function deletedWords({ left, kept, deleted, running = [] }: CommandReply<'remove_stage'>): string | null {
  const words = [
    ...(kept === null || kept.fileCount === 0
      ? []
      : [`${count(kept.fileCount, 'item')} moved to the trash (${sizeWords(kept.bytes)}).`]),
    ...(kept?.work == null ? [] : [`${upperFirst(workWords(kept.work))} moved to the trash.`]),
    ...(deleted.length === 0
      ? []
      : [`${count(deleted.length, 'build folder')} deleted (${sizeWords(sizeOf(deleted))}).`]),
    ...(left === null ? [] : [left]),
    ...(running.length === 0 ? [] : [runningWords(running)]),
  ];
  return words.length === 0 ? null : words.join(' ');
}

/** What a worktree has that is neither committed nor merged: "3 uncommitted files and 2 unmerged commits". */
export function workWords({
  uncommitted,
  unmerged,
  earlier,
}: Pick<KeptWork, 'uncommitted' | 'unmerged' | 'earlier'>): string {
  const words = [
    ...(uncommitted === 0 ? [] : [count(uncommitted, 'uncommitted file')]),
    ...(unmerged === 0 ? [] : [count(unmerged, 'unmerged commit')]),
    ...(earlier === 0 ? [] : [`${count(earlier, 'commit')} that only its reflog has`]),
  ];
  return words.join(' and ');
}
