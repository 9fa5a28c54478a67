import { basename } from 'node:path';
import type { MachineId } from '@callboard/contract';
import type { OrphanedWorktree } from '../store/ports/machine-tables.ts';
import { isStorageFailure } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

interface FindingDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'findAbandonedWorktrees'>;
  here: MachineId;
}

/**
 * On a machine that was declared lost and is back: finds out which worktrees it had made for stages whose first start there was
 * cut off before it was recorded, and records them. What cannot be found out now is tried again at the next start.
 * @throws OperationalError `storage_failed`
 */
export async function findUnrecorded({ log }: Pick<StartContext, 'log'>, deps: FindingDeps): Promise<void> {
  const all = await deps.store.read.orphanedWorktrees.listOf(deps.here);
  for (const orphaned of all.filter(({ isRecorded }) => !isRecorded)) {
    try {
      await record(deps, orphaned);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      log.error({ err: error, stageId: orphaned.stageId }, 'it was not found out what a start had made');
    }
  }
}

async function record({ store, worktrees, here }: FindingDeps, orphaned: OrphanedWorktree): Promise<void> {
  const { stageId, projectId, repository } = orphaned;
  const found = repository === null ? [] : await worktrees.findAbandonedWorktrees({ repository, projectId, stageId });
  const known = await knownNames(store, here);
  const left = found.filter(({ path }) => !known.has(basename(path)));
  await store.transact(async (tx) => {
    await tx.orphanedWorktrees.remove(orphaned);
    for (const worktree of left) await tx.orphanedWorktrees.save({ ...orphaned, worktree, isRecorded: true });
  });
}

/** The names of folders that belong to a stage, or of which it is known to whom they belonged. */
async function knownNames({ read }: Store, here: MachineId): Promise<Set<string>> {
  const names = new Set<string>();
  for (const { machineId, worktree } of await read.stages.list())
    if (machineId === here && worktree !== null) names.add(basename(worktree.path));
  for (const { worktree, isRecorded } of await read.orphanedWorktrees.listOf(here))
    if (isRecorded) names.add(basename(worktree.path));
  return names;
}
