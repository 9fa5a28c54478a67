import { basename } from 'node:path';
import type { FormerWorktree } from '../store/ports/machine-tables.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Membership } from './join-machines.ts';
import type { StartContext } from './start-context.ts';

interface FindingParts {
  store: Store;
  worktrees: Pick<Worktrees, 'leftByStart'>;
  membership: Membership;
}

/**
 * After a machine was declared lost and comes back: finds out which worktrees it had made for stages whose first start there was
 * cut off before it was recorded, and records them. One that cannot be examined now is tried again at the next start.
 */
export async function findUnrecorded({ log }: StartContext, parts: FindingParts): Promise<void> {
  const { store, membership } = parts;
  const all = await store.read.formerWorktrees.listOf(membership.claims.here);
  for (const former of all.filter(({ isRecorded }) => !isRecorded)) {
    try {
      await record(parts, former);
    } catch (error) {
      log.error({ err: error, stageId: former.stageId }, 'what a start had made was not found out');
    }
  }
}

async function record({ store, worktrees, membership }: FindingParts, former: FormerWorktree): Promise<void> {
  const { stageId, projectId, repository } = former;
  const found = repository === null ? [] : await worktrees.leftByStart({ repository, projectId, stageId });
  const known = await knownNames(store, membership);
  const left = found.filter(({ path }) => !known.has(basename(path)));
  await store.transact(async (tx) => {
    await tx.formerWorktrees.remove(former);
    for (const worktree of left) await tx.formerWorktrees.save({ ...former, worktree, isRecorded: true });
  });
}

/** The names of folders that belong to a stage, or of which it is known to whom they belonged. */
async function knownNames({ read }: Store, { claims: { here } }: Membership): Promise<Set<string>> {
  const names = new Set<string>();
  for (const { machineId, worktree } of await read.stages.list())
    if (machineId === here && worktree !== null) names.add(basename(worktree.path));
  for (const { worktree, isRecorded } of await read.formerWorktrees.listOf(here))
    if (isRecorded) names.add(basename(worktree.path));
  return names;
}
