import { basename, join, sep } from 'node:path';
import { LaunchId, type StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { launchesIn } from '../claude/launch/launches-in.ts';
import { endMarked } from '../claude/processes/end-processes.ts';
import { findMarkedProcesses } from '../claude/processes/marked-processes.ts';
import { dataDirLayout } from '../data-dir.ts';
import { changeSession } from '../domain/change-session.ts';
import { addNotice, type Notice } from '../domain/session-change.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { OrphanedWorktree } from '../store/ports/machine-tables.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { findUnrecorded } from './find-unrecorded.ts';
import type { Membership } from './join-machines.ts';
import type { StartContext } from './start-context.ts';

interface OrphanedDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'snapshotTurn' | 'findAbandonedWorktrees'>;
  membership: Membership;
}

/** A stage that was taken from this machine while it was away. */
interface Orphaned {
  stageId: StageId;
  /** Its worktree here, if it had one that was not kept yet. */
  worktree: OrphanedWorktree | null;
  /** The launches of which processes run here. */
  running: LaunchId[];
}

/**
 * After a machine was declared lost and comes back: keeps the files of each stage that was taken from it on a ref, uncommitted
 * ones with them, then ends their processes, and says in their transcripts what was found. A stage that fails keeps its
 * processes from nothing: they are ended all the same.
 */
export async function saveOrphanedWork(
  context: StartContext,
  { membership, ...others }: Omit<OrphanedDeps, 'membership'> & { membership: Membership | null },
): Promise<void> {
  if (membership === null) return;
  const deps = { ...others, membership };
  await findUnrecorded(context, { ...others, here: membership.claims.here });
  if (!membership.wasLost) return;
  for (const orphaned of await findOrphaned(context, deps)) await saveOne(context, deps, orphaned);
  await endDeleted(context, others.store);
  // Not before: whoever is killed in between begins again at the next start.
  const { claims, epoch } = membership;
  await others.store.transact((tx) => tx.machines.savedOrphanedWork(claims.here, epoch));
}

async function findOrphaned({ config }: StartContext, { store, membership }: OrphanedDeps): Promise<Orphaned[]> {
  const { here } = membership.claims;
  const worktrees = (await store.read.orphanedWorktrees.listOf(here)).filter(
    ({ isRecorded, isKept, isTaken }) => isRecorded && !isKept && !isTaken,
  );
  const marked = await findMarkedProcesses();
  const found: Orphaned[] = worktrees.map((worktree) => ({ stageId: worktree.stageId, worktree, running: [] }));
  for (const stage of await store.read.stages.list()) {
    if (stage.machineId === here) continue;
    const launches = await store.read.launches.listOf(stage.id);
    // Another Callboard on this machine may have the stage by now.
    const own = launches.filter(({ folder }) => folder.startsWith(`${config.dataDir}${sep}`));
    const running = own.map(({ id }) => id).filter((id) => marked.has(id));
    const known = found.find(({ stageId }) => stageId === stage.id);
    if (known !== undefined) known.running = running;
    else if (running.length > 0 || stage.lost?.machineId === here)
      found.push({ stageId: stage.id, worktree: null, running });
  }
  return found;
}

/** Ends what runs of stages that were deleted while this machine was lost: the store knows their launches no more, their folders are here. */
async function endDeleted({ config, limits, log }: StartContext, store: Store): Promise<void> {
  const marked = await findMarkedProcesses();
  const here = (await launchesIn(dataDirLayout(config.dataDir).sessions)).flatMap(
    ({ launchId }) => LaunchId.safeParse(launchId).data ?? [],
  );
  const running = here.filter((id) => marked.has(id));
  const found = await Promise.all(running.map((id) => store.read.launches.find(id)));
  const unknown = running.filter((_, index) => found[index] === null);
  if (unknown.length === 0) return;
  log.warn({ launchIds: unknown }, 'ending the processes of stages that were deleted while this machine was lost');
  await endMarked(unknown, limits.graces.signalMs);
}

async function saveOne(
  context: StartContext,
  { store, worktrees, membership }: OrphanedDeps,
  { stageId, worktree, running }: Orphaned,
) {
  const { claims, machines } = membership;
  const name = await machines.nameOf(claims.here);
  const saved = worktree === null ? NO_WORKTREE : await saveFiles(context, worktrees, worktree);
  const marked = await findMarkedProcesses();
  const count = running.flatMap((id) => marked.get(id) ?? []).length;
  await endMarked(running, context.limits.graces.signalMs);
  const ended =
    count === 0
      ? 'None of its processes were still running there.'
      : `${count} of its processes ran there, and were ended.`;
  await store.transact(async (tx) => {
    if (worktree !== null) await tx.orphanedWorktrees.save({ ...worktree, isKept: true });
    await noticeOrphaned(tx, stageId, { code: 'machine-back', text: `${name} is back. ${saved} ${ended}` });
  });
}

const NO_WORKTREE = 'It has no worktree there any more.';

/** Returns what became of the files, in words. */
async function saveFiles(
  { log, platform, config }: StartContext,
  worktrees: OrphanedDeps['worktrees'],
  { stageId, projectId, worktree }: OrphanedWorktree,
): Promise<string> {
  // The data directory may have moved.
  const path = join(config.dataDir, 'worktrees', projectId, basename(worktree.path));
  if (!(await pathExists(path))) return NO_WORKTREE;
  try {
    const turn = { stageId, name: `lost-${platform.now().toISOString()}` };
    const { commit } = await worktrees.snapshotTurn({ ...worktree, path }, turn);
    return `Its files there, including uncommitted ones, are kept as the commit ${commit}.`;
  } catch (error) {
    log.error({ err: error, stageId }, 'the work of a former stage was not kept');
    return `Its files there are in ${path}; they could not be kept in git as well: ${messageOf(error)}`;
  }
}

/** Says in the transcript of a stage what a machine found that it was taken from; does nothing if the stage was deleted. */
export async function noticeOrphaned(tx: Tx, stageId: StageId, notice: Omit<Notice, 'level'>): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  await changeSession(tx, stageId, (change) => addNotice(change, tx.now, { level: 'warning', ...notice }));
}
