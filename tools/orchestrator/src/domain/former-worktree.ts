import { basename } from 'node:path';
import type { MachineId, Stage, Worktree } from '@callboard/contract';
import type { OrphanedWorktree } from '../store/ports/machine-tables.ts';

/**
 * What becomes of a worktree that a machine had when it was lost. `own`: its stage goes on in it. `waits`: it can go on in it.
 * Otherwise nothing will ever work in it again.
 */
export type OrphanFate = 'own' | 'waits' | 'deleted' | 'done' | 'elsewhere';

/** @param stage null if it was deleted */
export function orphanFate({ machineId, worktree }: OrphanedWorktree, stage: Stage | null): OrphanFate {
  if (stage === null) return 'deleted';
  // By the names of folders: the data directory of a machine may move.
  const isIt = (at: MachineId | null, other: Worktree) =>
    at === machineId && basename(other.path) === basename(worktree.path);
  // Its start elsewhere is not complete before it has a worktree there.
  if (stage.worktree !== null) return isIt(stage.machineId, stage.worktree) ? 'own' : 'elsewhere';
  const { lost } = stage;
  if (lost !== null && lost.worktree !== null && !isIt(lost.machineId, lost.worktree)) return 'elsewhere';
  return stage.completedAt === null ? 'waits' : 'done';
}

/** Whether a stage's recorded worktree is on this machine. @param here null where one machine has everything */
export const isOnMachine = ({ machineId }: Pick<Stage, 'machineId'>, here: MachineId | null): boolean =>
  here === null || machineId === here;
