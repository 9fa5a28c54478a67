import type { CommandReply, KeptFile, KeptWork, LeftProcess, Removal } from '@callboard/contract';
import { count, sizeWords } from './format.ts';

export const sizeOf = (files: readonly KeptFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** What will happen to the worktree and the branch, one sentence each. */
export function removalWords({ worktree, left, branch, running = [] }: Removal): string[] {
  const runsOn = running.length === 0 ? [] : [`${runningWords(running)} End what should not run on first.`];
  if (left !== null) return [left, ...runsOn];
  return [...runsOn, ...treeWords(worktree, branch)];
}

const NAMED = 3;

/** Which processes run on: they are on no list afterwards. */
function runningWords(running: readonly LeftProcess[]): string {
  const named = running.slice(0, NAMED).map(({ pid, command }) => `${command} (pid ${pid})`);
  const more = running.length > NAMED ? ` and ${running.length - NAMED} more` : '';
  const [verb, whom] = running.length === 1 ? ['runs', 'it'] : ['run', 'them'];
  return `${count(running.length, 'process', 'processes')} that Claude's commands started still ${verb}: ${named.join(', ')}${more}. Deleting the stage does not end ${whom}.`;
}

function treeWords(worktree: Removal['worktree'], branch: Removal['branch']): string[] {
  const words = worktree === null ? [] : ['Its worktree is removed.'];
  if (branch === null) return words;
  return [
    ...words,
    branch.isKept
      ? `The branch ${branch.name} is kept: it has work that is not merged.`
      : `The branch ${branch.name} is removed: it has nothing that is not merged.`,
  ];
}

/** What the deletion kept and could not remove; null if there is nothing to add. */
export function deletedWords({ left, kept, deleted, running = [] }: CommandReply<'remove_stage'>): string | null {
  const words = [
    ...(kept === null ? [] : [`${count(kept.fileCount, 'item')} moved to the trash (${sizeWords(kept.bytes)}).`]),
    ...(deleted.length === 0
      ? []
      : [`${count(deleted.length, 'build folder')} deleted (${sizeWords(sizeOf(deleted))}).`]),
    ...(left === null ? [] : [left]),
    ...(running.length === 0 ? [] : [runningWords(running)]),
  ];
  return words.length === 0 ? null : words.join(' ');
}

/** What a worktree has that is neither committed nor merged: "3 uncommitted files and 2 unmerged commits". */
export function workWords({ uncommitted, unmerged }: Pick<KeptWork, 'uncommitted' | 'unmerged'>): string {
  const words = [
    ...(uncommitted === 0 ? [] : [count(uncommitted, 'uncommitted file')]),
    ...(unmerged === 0 ? [] : [count(unmerged, 'unmerged commit')]),
  ];
  return words.join(' and ');
}
